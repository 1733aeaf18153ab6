// Feeds a reader piece by piece and hands its entries on in small batches, so that neither a large file nor a flood of
// tiny records piles up in memory.
import type { Entry, RecordReader } from './entry.ts';

const PIECE_BYTES = 64 * 1024;
const BATCH_ENTRIES = 1000;

/** The next piece is read when the consumer asks for the next batch. */
export async function* inBatches(
  chunks: AsyncIterable<Buffer>,
  reader: RecordReader,
): AsyncGenerator<Entry[]> {
  for await (const chunk of chunks)
    for (let at = 0; at < chunk.length; at += PIECE_BYTES)
      yield* batchesOf(reader.read(chunk.subarray(at, at + PIECE_BYTES)));
  yield* batchesOf(reader.end());
}

function* batchesOf(entries: Iterable<Entry>): Generator<Entry[]> {
  let batch: Entry[] = [];
  for (const entry of entries) {
    batch.push(entry);
    if (batch.length < BATCH_ENTRIES) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
