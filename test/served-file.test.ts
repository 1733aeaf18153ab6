// The file of a SQLite database: what is refused before it is opened, and which changes a server reports.
import { spawnSync } from 'node:child_process';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { countOnce } from '../src/stores/counts.ts';
import {
  checkDatabase,
  migrateDatabase,
  openForChange,
  openForExport,
  openForLookups,
  openForServing,
  openForTrial,
  snapshotDatabase,
} from '../src/stores/open.ts';
import type { Counts, StoreEvent } from '../src/stores/reader.ts';
import { copyOf, ndjson, tempFile, tempFolder } from './files.ts';
import { folio } from './records.ts';
import { importInto } from './rig.ts';
import { until } from './stress.ts';

const OPENERS: Record<string, (path: string) => Promise<unknown>> = {
  checkDatabase,
  migrateDatabase,
  openForChange,
  openForExport,
  openForLookups,
  openForServing: (path) => openForServing(path, () => {}),
  openForTrial,
  snapshotDatabase: (path) => snapshotDatabase(path, `${path}.snapshot`),
};

let database: string;
beforeAll(async () => {
  database = join(tempFolder(), 'site.db');
  await importInto(database, ['-'], ndjson(folio(1, 'ada'), folio(2, 'bea')));
});

describe.each(Object.entries(OPENERS))('%s refuses', (_, open) => {
  test('what is no regular file', async () => {
    const pipe = join(tempFolder(), 'pipe');
    expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
    await expect(open(pipe)).rejects.toThrow(/pipe is not a regular file/);
    await expect(open('/dev/zero')).rejects.toThrow(/not a regular file/);
    await expect(open(tempFolder())).rejects.toThrow(/is a folder/);
  });

  test('a log of another file, which a crash has left', async () => {
    const crashed = copyOf(database);
    const writing = new Database(crashed);
    writing.exec("UPDATE profiles SET record = '{}'");
    const log = readFileSync(`${crashed}-wal`);
    writing.close();
    const restored = tempFile('site.db-wal', log).replace('-wal', '');
    await snapshotDatabase(database, restored);
    await expect(open(restored)).rejects.toThrow(/site\.db-wal holds changes to another file.* remove/);
  });
});

test('a log that belongs to its file is read', async () => {
  const path = copyOf(database);
  const writing = new Database(path);
  writing.exec("UPDATE profiles SET user_key = 'cid' WHERE id = 1");
  const reader = await openForLookups(path);
  expect(await reader.profile('portfolio', 'cid')).toBeDefined();
  await reader.close();
  writing.close();
});

test('zeros in the place of a log, which a power failure leaves, are not read', async () => {
  const path = copyOf(database);
  writeFileSync(`${path}-wal`, Buffer.alloc(4096));
  expect(await checkDatabase(path)).toMatchObject({ faults: [] });
  const reader = await openForServing(path, () => {});
  expect(await reader.profile('portfolio', 'ada')).toBeDefined();
  await reader.close();
});

test('only imports that change something change the version, and are reported, once', async () => {
  const path = copyOf(database);
  const events: StoreEvent[] = [];
  const reader = await openForServing(path, (event) => void events.push(event));
  const before = reader.version();
  await importInto(path, ['-'], ndjson(folio(1, 'ada')));
  await new Promise(setImmediate);
  expect(reader.version()).toBe(before);
  await importInto(path, ['-'], ndjson(folio(3, 'cid')));
  await new Promise(setImmediate);
  expect(reader.version()).toBeGreaterThan(before);
  await until('the event', () => events.length > 0);
  await reader.close();
  expect(events).toEqual([{ type: 'data-changed', message: 'the data changed' }]);
});

test('a file whose tables are damaged in place is looked at on, and another one takes its place', async () => {
  const [path, other] = [copyOf(database), copyOf(database)];
  const events: StoreEvent[] = [];
  const pages = new Database(path, { readonly: true });
  const root = pages
    .prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'vitrine'")
    .pluck()
    .get() as number;
  const size = pages.pragma('page_size', { simple: true }) as number;
  pages.close();
  vi.useFakeTimers({ toFake: ['setInterval'] });
  const reader = await openForServing(path, (event) => void events.push(event));
  writeFileSync(path, readFileSync(path).fill(0xa5, (root - 1) * size, root * size));
  vi.advanceTimersByTime(250);
  await new Promise(setImmediate);
  renameSync(other, path);
  vi.advanceTimersByTime(250);
  vi.useRealTimers();
  await until('the event', () => events.some(({ type }) => type === 'data-swapped'));
  expect(await reader.profile('portfolio', 'ada')).toBeDefined();
  await reader.close();
});

test('another file changes the version, also one of the same generation', async () => {
  const [path, other] = [copyOf(database), copyOf(database)];
  const events: StoreEvent[] = [];
  const reader = await openForServing(path, (event) => void events.push(event));
  const before = reader.version();
  renameSync(other, path);
  await until('the event', () => events.length > 0);
  expect(reader.version()).not.toBe(before);
  await reader.close();
});

test('records are counted once for each version; when that fails, the last counts stay and it is tried again', async () => {
  const counts = (post: number) => ({ post }) as Counts;
  const results = [counts(1), undefined, new Error('locked'), counts(2)];
  let version = 1;
  let calls = 0;
  const count = countOnce(
    () => version,
    async () => {
      const result = results[calls++];
      if (result instanceof Error) throw result;
      return result;
    },
  );
  expect([await count(), await count(), calls]).toEqual([counts(1), counts(1), 1]);
  version++;
  expect([await count(), await count(), await count(), calls]).toEqual([counts(1), counts(1), counts(2), 4]);
});
