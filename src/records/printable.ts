// What messages show: text from files and sites, made safe to print on a terminal and short enough; numbers with nouns.

const LONGEST_QUOTE = 60;
const NOT_PRINTABLE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Replaces what could move the cursor, change colours or reorder text: control and format characters. */
export function printable(text: string): string {
  return text.toWellFormed().replace(NOT_PRINTABLE, '\ufffd');
}

/** A value in at most 60 printable characters, or another number of them, for a message. */
export function brief(value: unknown, longest = LONGEST_QUOTE): string {
  if (value === undefined) return '';
  const text = typeof value === 'string' ? value : toJson(value);
  return text.length > longest ? `${printable(text.slice(0, longest))}…` : printable(text);
}

function toJson(value: unknown): string {
  // JSON has no word for NaN.
  if (typeof value === 'bigint' || typeof value === 'number') return String(value);
  try {
    return (
      JSON.stringify(value, (_member, inner) => (typeof inner === 'bigint' ? String(inner) : inner)) ?? ''
    );
  } catch {
    // Nested too deeply for JSON.stringify.
    return '…';
  }
}

/** A word of a command that is shown, quoted if a shell would read it otherwise. */
export const shellWord = (word: string) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** `1 user`, `2 users`. */
export const counted = (count: number, noun: string) => `${count} ${count === 1 ? noun : `${noun}s`}`;

/** `1 of 3 users is`, `2 of 3 users are`. */
export const countedPart = (
  count: number,
  total: number,
  noun: string,
  [one, many]: readonly [string, string] = ['is', 'are'],
) => `${count} of ${counted(total, noun)} ${count === 1 ? one : many}`;

const GAP = 2;

/** Rows as lines: the first cell of each on the left, the others on the right of columns that are as wide as their widest cell. */
export function table(rows: readonly (readonly (string | number)[])[]): string {
  const texts = rows.map((row) => row.map(String));
  const widths = (texts[0] ?? []).map((_, column) =>
    Math.max(...texts.map((row) => row[column]?.length ?? 0)),
  );
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(GAP + (widths[column] ?? 0));
  return texts.map((row) => row.map(pad).join('')).join('\n');
}

/** Why something failed, in one sentence; undefined without a reason. */
export const joinReasons = (...reasons: (string | false | undefined)[]) =>
  reasons.filter(Boolean).join('; ') || undefined;
