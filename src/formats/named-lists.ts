// Finds the lists of records in JSON objects by their names: those of response bodies, or those that a map names.
import { COLLECTIONS } from '../variants.ts';

/** More than a brace, any name with its quotation marks, a colon and blanks take. */
const LONGEST_NAME = 1024;
const OPENS_LIST = /(\{\s*)?"((?:[^"\\]|\\.)*)"\s*:\s*\[$/;

/** The lists that a map names lie anywhere among the members of an object; the list of a response body is its first member. */
export function createNamedLists(ofMap: readonly string[]) {
  const areAnywhere = ofMap.length > 0;
  const names = areAnywhere ? ofMap : COLLECTIONS;
  let seen: Buffer = Buffer.alloc(0);

  const tailWith = (bytes: Buffer) =>
    bytes.length >= LONGEST_NAME
      ? bytes.subarray(-LONGEST_NAME)
      : Buffer.concat([seen, bytes]).subarray(-LONGEST_NAME);

  return {
    areAnywhere,
    /** Bytes of the object that came before, outside of its lists. */
    passBy(bytes: Buffer): void {
      seen = tailWith(bytes);
    },
    /** Whether the bytes, which end with a bracket, open one of the lists. */
    isOpenedBy(bytes: Buffer): boolean {
      const [, brace, name] = OPENS_LIST.exec(tailWith(bytes).toString()) ?? [];
      return name !== undefined && names.includes(name) && (areAnywhere || brace !== undefined);
    },
  };
}
