// Finds the lists of records that a JSON object holds under given names, anywhere among its members.

/** More than any name with its quotation marks, a colon and blanks takes. */
const LONGEST_NAME = 1024;
const NAME_OF_LIST = /"((?:[^"\\]|\\.)*)"\s*:\s*\[$/;

export type ListSearch = ReturnType<typeof createListSearch>;

export function createListSearch(names: readonly string[]) {
  let seen: Buffer = Buffer.alloc(0);

  return {
    /** Bytes of the object that came before, outside of its lists. */
    passBy(bytes: Buffer): void {
      seen = tailOf(seen, bytes);
    },
    /** Whether the bytes, which end with a bracket, open one of the lists. */
    opensList(bytes: Buffer): boolean {
      const [, name] = NAME_OF_LIST.exec(tailOf(seen, bytes).toString()) ?? [];
      return name !== undefined && names.includes(name);
    },
  };
}

function tailOf(before: Buffer, bytes: Buffer): Buffer {
  if (bytes.length >= LONGEST_NAME) return bytes.subarray(-LONGEST_NAME);
  return Buffer.concat([before, bytes]).subarray(-LONGEST_NAME);
}
