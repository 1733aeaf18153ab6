// The sample users of `fixtures/`, as a database in memory.
import { readFile } from 'node:fs/promises';
import { packageFile } from '../../config/package-files.ts';
import { FIXTURE_PICTURES } from '../../records/samples.ts';
import { openMemory } from '../../stores/sqlite/write.ts';
import { importFiles } from '../import.ts';

/** The bytes of a database that holds the sample users. Their pictures are at the address of this server. */
export async function sampleDatabase(picturesUrl: string): Promise<Buffer> {
  const memory = openMemory();
  const faults: string[] = [];
  const { tallies } = await importFiles(memory.writer, {
    files: ['-'],
    stdin: readRecords(picturesUrl),
    replace: false,
    skipInvalid: false,
    out: { isQuiet: true, write: (line) => faults.push(line) },
  });
  if (tallies === undefined) throw new Error(`the sample data is not fit to be served:\n${faults.join('')}`);
  return memory.bytes();
}

async function* readRecords(picturesUrl: string): AsyncGenerator<Buffer> {
  for (const file of ['microblog.ndjson', 'portfolio.ndjson']) {
    const records = await readFile(packageFile(`fixtures/${file}`), 'utf8');
    yield Buffer.from(records.replaceAll(FIXTURE_PICTURES, picturesUrl));
  }
}
