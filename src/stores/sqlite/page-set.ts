// A set of the pages of a file, a bit each: an import may change all of them. The first page has the number 1.

export type PageSet = ReturnType<typeof createPageSet>;

/** Of a file with so many pages. */
export function createPageSet(count: number) {
  const bits = new Uint8Array((count >> 3) + 1);
  const byteOf = (page: number) => bits[page >> 3] ?? 0;
  const has = (page: number) => (byteOf(page) & (1 << (page & 7))) !== 0;
  return {
    count,
    /** A page beyond the file is left out. */
    add(page: number): void {
      if (page <= count) bits[page >> 3] = byteOf(page) | (1 << (page & 7));
    },
    addAll: () => void bits.fill(255),
    /** The first page from this one on. */
    next(from: number): number | undefined {
      for (let page = from; page <= count; page++)
        if (byteOf(page) === 0) page |= 7;
        else if (has(page)) return page;
      return undefined;
    },
    /** The end of the run of pages that this one begins, of so many at most. */
    runEnd(first: number, most: number): number {
      let end = first + 1;
      while (end <= count && end - first < most && has(end)) end++;
      return end;
    },
  };
}
