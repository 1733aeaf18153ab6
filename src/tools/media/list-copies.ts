// All copies that a database knows, or those that are to be measured, page by page: a long task holds no transaction, and
// leaves signals their turn.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openArchive } from '../../stores/open.ts';
import type { Copy } from '../../stores/sql/media.ts';

export async function* listCopies(database: string, unmeasured = false): AsyncGenerator<Copy> {
  for (let after: string | undefined = ''; after !== undefined; await nextTurn()) {
    const copies = await readPage(database, after, unmeasured);
    yield* copies;
    after = copies.at(-1)?.file;
  }
}

async function readPage(database: string, after: string, unmeasured: boolean): Promise<Copy[]> {
  await using archive = await openArchive(database);
  return await archive.copies(after, unmeasured);
}
