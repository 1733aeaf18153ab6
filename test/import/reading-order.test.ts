// Of two records with one id the last counts, in whatever files they are.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { importInto } from '../support/database.ts';
import { ndjson, tempFile, tempFolder } from '../support/files.ts';
import { exported, newPath } from '../support/importing.ts';
import { folio } from '../support/records.ts';

test('also where the first fits both families, and waits for a record that tells its own', async () => {
  const database = newPath();
  const undecided = { id: '1', username: 'ada', name: 'Old' };
  const files = [
    tempFile('one.ndjson', ndjson(undecided, { ...undecided, name: 'Newer' })),
    tempFile('two.ndjson', ndjson(folio(1, 'ada', { name: 'Newest' }))),
  ];
  await importInto(database, files);
  expect((await exported(database)).map((line) => JSON.parse(line))).toMatchObject([{ name: 'Newest' }]);
  await importInto(database, [files[1] as string, files[0] as string]);
  expect((await exported(database)).map((line) => JSON.parse(line))).toMatchObject([{ name: 'Newer' }]);
});

test('also in a folder, whose files are read in the order of their names', async () => {
  const folder = join(tempFolder(), 'export');
  mkdirSync(join(folder, 'b'), { recursive: true });
  // Systems list files by their age, or by a hash of the name.
  const names = ['c.json', 'a.json', 'b/2.json', 'd.json', 'b/1.json'];
  for (const name of names) writeFileSync(join(folder, name), ndjson(folio(1, 'ada', { name })));
  const map = tempFile('map.mjs', 'export const files = /\\.json$/; export default (user) => user;');
  const database = newPath();
  await importInto(database, [folder], '', { map });
  expect((await exported(database)).map((line) => JSON.parse(line))).toMatchObject([{ name: 'd.json' }]);
});
