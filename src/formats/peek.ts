// Looks at the first bytes of a stream without taking them from it.

export interface PeekedStream {
  readonly head: Buffer;
  /** The whole stream, head included, without so many bytes at its beginning. */
  from(skipped: number): AsyncGenerator<Buffer>;
  close(): Promise<void>;
}

/** Reads until `isEnough` is content with the head, or to the end. */
export async function peek(
  chunks: AsyncIterable<Buffer>,
  isEnough: (head: Buffer) => boolean,
): Promise<PeekedStream> {
  const iterator = chunks[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (!isEnough(head)) {
    const next = await iterator.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }

  async function close() {
    await iterator.return?.();
  }

  async function* from(skipped: number) {
    try {
      yield head.subarray(skipped);
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await close();
    }
  }

  return { head, from, close };
}
