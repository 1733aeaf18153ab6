// JSON scalars as text. Numbers keep their digits as written: 9.90 stays 9.90, and 9007199254740993 keeps its last digit.

/** What `JSON.rawJSON` returns; `JSON.stringify` writes it as it was. */
interface WrittenNumber {
  readonly rawJSON: string;
}

interface RawJson {
  rawJSON(text: string): WrittenNumber;
  isRawJSON(value: unknown): value is WrittenNumber;
}

// TypeScript's library declares neither these yet, nor the third argument of a reviver.
const { rawJSON, isRawJSON } = JSON as unknown as RawJson;

export const isWrittenNumber = isRawJSON;

type Reviver = (key: string, value: unknown) => unknown;

/** Parses JSON. Numbers other than plain integers up to 2^53 become a `WrittenNumber`. */
export const parseKeepingDigits = (text: string): unknown => JSON.parse(text, keepDigits as Reviver);

function keepDigits(_key: string, value: unknown, { source }: { source: string }): unknown {
  if (typeof value !== 'number') return value;
  return Number.isSafeInteger(value) && String(value) === source ? value : rawJSON(source);
}

/** Whether a value is an object of JSON: no array, and no number. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isWrittenNumber(value);
}

/** The text of a scalar; undefined for anything else, and for a number that has lost digits. */
export function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (typeof value === 'number') return isExact(value) ? String(value) : undefined;
  if (typeof value === 'bigint') return String(value);
  return isWrittenNumber(value) ? value.rawJSON : undefined;
}

/** The same for a member that holds digits, where 12.0 and 1e2 are written out as 12 and 100. */
export function digitsText(value: unknown): string | undefined {
  if (!isWrittenNumber(value)) return scalarText(value);
  const number = Number(value.rawJSON);
  return Number.isSafeInteger(number) ? String(number) : value.rawJSON;
}

function isExact(value: number): boolean {
  return Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
}
