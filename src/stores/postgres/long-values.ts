// Long values of many rows travel as one parameter of bytes, of which SQL cuts its slices: in JSON or in an array, PostgreSQL
// would look for quotes and escapes in each of them, for twice the CPU.

/** The values as one, with arrays of where each begins, counted from 1, and how many bytes it has. */
export function joinValues(values: readonly (string | Buffer)[]) {
  const buffers = values.map((value) => (typeof value === 'string' ? Buffer.from(value) : value));
  const lengths = buffers.map(({ length }) => length);
  const starts: number[] = [];
  let start = 1;
  for (const length of lengths) {
    starts.push(start);
    start += length;
  }
  return { bytes: Buffer.concat(buffers), starts: numbersArray(starts), lengths: numbersArray(lengths) };
}

/** An array as PostgreSQL reads it. The client library would look for quotes in each number. */
export const numbersArray = (numbers: readonly (number | string)[]) => `{${numbers.join()}}`;
