// The store's records -> NDJSON, as they are served.
import type { Reader } from '../stores/store.ts';

const CHUNK = 256 * 1024;

/** Every record, a line each, in chunks that are worth writing. */
export async function* exportLines(reader: Pick<Reader, 'records'>): AsyncGenerator<string> {
  let chunk = '';
  for await (const record of reader.records()) {
    chunk += `${record}\n`;
    if (chunk.length < CHUNK) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}
