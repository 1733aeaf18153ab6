// Zipf's law for autocannon: user names drawn as wrk.lua draws them.

/** Keeps popular users from being neighbours in the database. */
const STRIDE = 7919;

/** Draws users from 1 to `users`: the one of rank r in proportion to 1 / r ^ exponent. */
export function zipf(users: number, exponent: number, random: () => number = Math.random): () => number {
  const cumulative = new Float64Array(users);
  let sum = 0;
  for (let rank = 1; rank <= users; rank++) {
    sum += rank ** -exponent;
    cumulative[rank - 1] = sum;
  }
  return () => {
    const drawn = random() * sum;
    let [low, high] = [1, users];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((cumulative[middle - 1] as number) < drawn) low = middle + 1;
      else high = middle;
    }
    return ((low * STRIDE) % users) + 1;
  };
}
