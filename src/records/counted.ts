// Numbers in sentences, with a noun and a verb that agree with them.

/** `1 user`, `2 users`. */
export const counted = (count: number, noun: string) => `${count} ${count === 1 ? noun : `${noun}s`}`;

/** `1 of 3 users is`, `2 of 3 users are`. */
export const countedOf = (
  count: number,
  total: number,
  noun: string,
  [one, many]: readonly [string, string] = ['is', 'are'],
) => `${count} of ${counted(total, noun)} ${count === 1 ? one : many}`;
