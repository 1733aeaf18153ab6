// The sample users of `fixtures/`, as a database in memory.
import { join } from 'node:path';
import { importFiles } from '../import/import.ts';
import { openMemory } from '../stores/sqlite/write.ts';

const FIXTURES = join(import.meta.dirname, '../../fixtures');

/** The bytes of a database that holds the sample users. */
export async function sampleDatabase(): Promise<Buffer> {
  const memory = openMemory();
  const faults: string[] = [];
  const { tallies } = await importFiles(memory.writer, {
    files: ['microblog.ndjson', 'portfolio.ndjson'].map((file) => join(FIXTURES, file)),
    stdin: (async function* () {})(),
    replace: false,
    skipInvalid: false,
    onProgress() {},
    onFault: (line) => faults.push(line),
  });
  if (tallies === undefined)
    throw new Error(`the sample data is not fit to be served:\n${faults.join('\n')}`);
  return memory.bytes();
}
