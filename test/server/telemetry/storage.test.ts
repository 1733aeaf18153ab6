// What /metrics says of the disk and of snapshots.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readStorage } from '../../../src/server/telemetry/storage.ts';
import { tempFolder } from '../../support/files.ts';

test('of many dated snapshots the newest one counts, whatever they are called', () => {
  const [folder, databaseUrl] = [tempFolder(), join(tempFolder(), 'site.db')];
  const lastSnapshot = () => readStorage({ databaseUrl, snapshotDir: folder }).lastSnapshot;
  expect(lastSnapshot()).toBe(0);
  for (const name of ['a-20260101T000000Z.db', 'b-20260301T120005Z.db', 'c-20260201T000000Z.db', 'other.db'])
    writeFileSync(join(folder, name), '');
  expect(lastSnapshot()).toBe(Date.parse('2026-03-01T12:00:05Z') / 1000);
});

test('the log of the database counts for its size', () => {
  const databaseUrl = join(tempFolder(), 'site.db');
  const size = () => readStorage({ databaseUrl, snapshotDir: undefined }).databaseBytes;
  expect(size()).toBeUndefined();
  writeFileSync(databaseUrl, 'x'.repeat(100));
  expect(size()).toBe(100);
  writeFileSync(`${databaseUrl}-wal`, 'x'.repeat(23));
  expect(size()).toBe(123);
});
