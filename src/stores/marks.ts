// A set of row numbers in a bit each, however many rows there are.
export type Marks = ReturnType<typeof createMarks>;

export function createMarks(size: number) {
  const bits = new Uint8Array((size >> 3) + 1);
  return {
    has: (number: number) => ((bits[number >> 3] as number) & (1 << (number & 7))) !== 0,
    add(number: number): void {
      bits[number >> 3] = (bits[number >> 3] as number) | (1 << (number & 7));
    },
  };
}
