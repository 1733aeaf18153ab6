// The work tables of a SQLite connection.
import { expect, test } from 'vitest';
import { openForWriting } from '../../../src/stores/sqlite/connect.ts';
import { change } from '../../../src/stores/sqlite/write.ts';
import { newPath } from '../../support/importing.ts';

test('are made once, and are empty at the start of each change', async () => {
  const path = newPath();
  using db = await openForWriting(path);
  const schema = () => db.pragma('temp.schema_version', { simple: true });
  await change(db, path, async (store) => void (await store.run("INSERT INTO named_urls VALUES ('left')")));
  const before = schema();
  const left = await change(db, path, async (store) =>
    Array.fromAsync(store.rows('SELECT url FROM named_urls')),
  );
  expect([left, schema()]).toEqual([[], before]);
});
