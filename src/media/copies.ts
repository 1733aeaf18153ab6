// All copies that a database knows, page by page: a long task holds no transaction, and leaves signals their turn.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Archive } from '../stores/archive.ts';
import type { Copy } from '../stores/media.ts';
import type { StoreHandle } from '../stores/open.ts';

export async function* listCopies(openArchive: () => Promise<StoreHandle<Archive>>): AsyncGenerator<Copy> {
  for (let after = ''; ; await nextTurn()) {
    const copies = await readPage(openArchive, after);
    yield* copies;
    const last = copies.at(-1);
    if (last === undefined) return;
    after = last.file;
  }
}

async function readPage(openArchive: () => Promise<StoreHandle<Archive>>, after: string): Promise<Copy[]> {
  await using archive = await openArchive();
  return await archive.copies(after);
}
