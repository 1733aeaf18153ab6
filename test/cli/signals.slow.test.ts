// A signal in the middle of a command about a whole database ends it soon, and leaves the database and other files as they were.
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync, utimesSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import Database from 'better-sqlite3';
import { beforeAll, expect, test } from 'vitest';
import { checkDatabase } from '../../src/stores/open.ts';
import { people } from '../bench/data.ts';
import { databaseOf } from '../support/database.ts';
import { loadedFirst, ndjson, tempFile, tempFolder } from '../support/files.ts';
import { blog } from '../support/records.ts';
import { done, vitrine } from '../support/run.ts';
import { until } from '../support/stress.ts';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

let large: string;
beforeAll(async () => {
  large = join(tempFolder(), 'large.db');
  await done(['snapshot', '--database-url', await databaseOf(...people(3000, 15)), large]);
});

function hasOpen(pid: number | undefined, path: string): boolean {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).some((fd) => readlinkSync(join(folder, fd)) === path);
  } catch {
    // It has closed a file meanwhile, or has ended.
    return false;
  }
}

const isUnfinished = (name: string) => name.endsWith('.unfinished');
const unfinishedBeside = (file: string) => readdirSync(dirname(file)).filter(isUnfinished);

/** Whether the command has begun to write beside this file. */
const isWriting = (file: string) => unfinishedBeside(file).length > 0;
/** Whether the command is reading the large database. */
const isReading = (_: string, pid?: number) => hasOpen(pid, large);

interface Interrupted {
  readonly args: readonly string[];
  /** A file that the command may write beside. */
  readonly file: string;
  /** Whether the command is in the middle. */
  readonly isWorking: (file: string, pid?: number) => boolean;
}

/** Sends the signal in the middle of the command, which must end soon by it, or by itself if it was quicker. */
async function interrupt({ args, file, isWorking }: Interrupted, signal: NodeJS.Signals): Promise<void> {
  const child = vitrine(args, { DATABASE_URL: large });
  child.stdout?.pause();
  const ended = once(child, 'exit');
  await until('the middle', () => child.exitCode !== null || isWorking(file, child.pid));
  child.kill(signal);
  const sent = performance.now();
  child.stdout?.resume();
  const end = await ended;
  const atOnce = [null, signal];
  expect([atOnce, [0, null], [130, null], [143, null]]).toContainEqual(end);
  expect(performance.now() - sent).toBeLessThan(60_000);
}

test.each([
  { name: 'check', args: () => ['check'], isWorking: isReading },
  { name: 'changes', args: () => ['changes'], isWorking: isReading },
  { name: 'export to a pipe', args: () => ['export'], isWorking: isReading },
  { name: 'export to a file', args: (file: string) => ['export', `${file}.ndjson`], isWorking: isWriting },
])('$name ends by a signal and leaves nothing unfinished', async ({ args, isWorking }) => {
  const file = await databaseOf(blog(1, 'ada'));
  const before = readFileSync(file);
  for (const signal of SIGNALS) await interrupt({ args: args(file), file, isWorking }, signal);
  expect((await checkDatabase(large)).faults).toEqual([]);
  expect(readFileSync(file).equals(before)).toBe(true);
  expect(unfinishedBeside(file)).toEqual([]);
});

test('snapshot ends by a signal, and the next one removes what it left', async () => {
  const file = await databaseOf(blog(1, 'ada'));
  const before = readFileSync(file);
  const args = ['snapshot', `${file}.copy`];
  for (const signal of SIGNALS) await interrupt({ args, file, isWorking: isWriting }, signal);
  expect((await checkDatabase(large)).faults).toEqual([]);
  expect(readFileSync(file).equals(before)).toBe(true);
  letMinutePass(file);
  await done(args, { env: { DATABASE_URL: large } });
  expect(unfinishedBeside(file)).toEqual([]);
});

test('restore ends by a signal, and the next one removes what it left', async () => {
  const file = await databaseOf(blog(1, 'ada'));
  const args = ['restore', '--database-url', file, large];
  for (const signal of SIGNALS) await interrupt({ args, file, isWorking: isWriting }, signal);
  expect((await checkDatabase(large)).faults).toEqual([]);
  expect((await checkDatabase(file)).faults).toEqual([]);
  letMinutePass(file);
  await done(args, { env: { DATABASE_URL: large } });
  expect(unfinishedBeside(file)).toEqual([]);
});

/** A run that starts a minute later removes what a killed run left. */
function letMinutePass(file: string): void {
  for (const name of unfinishedBeside(file)) utimesSync(join(dirname(file), name), 0, Date.now() / 1000 - 61);
}

test('an import that waits to write, or writes, is ended by the signal', async () => {
  const path = await databaseOf(blog(1, 'ada'));
  const other = new Database(path);
  other.exec('BEGIN IMMEDIATE');
  const read = join(tempFolder(), 'read');
  const map = tempFile(
    'map.mjs',
    `import { writeFileSync } from 'node:fs';
     export default (record) => record;
     export const end = () => writeFileSync(${JSON.stringify(read)}, '');`,
  );
  const file = tempFile('people.ndjson', ndjson(blog(2, 'bea')));
  const child = vitrine(['import', '--database-url', path, '--map', map, file]);
  const ended = once(child, 'exit');
  await until('all records to be read', () => existsSync(read));
  child.kill('SIGTERM');
  // SQLite waits for the other writer for a minute.
  expect(await ended).toEqual([null, 'SIGTERM']);
  other.close();
  expect(await done(['import', '--database-url', path, file])).toMatch(/microblog profiles +1 /);
});

test('an import that waits to migrate an older database, or migrates it, is ended by the signal', async () => {
  const path = await databaseOf(blog(1, 'ada'));
  const other = new Database(path);
  other.pragma('user_version = 17');
  other.exec('BEGIN IMMEDIATE');
  const child = vitrine([
    'import',
    '--database-url',
    path,
    tempFile('people.ndjson', ndjson(blog(2, 'bea'))),
  ]);
  const ended = once(child, 'exit');
  await until('it to open the database', () => child.exitCode !== null || hasOpen(child.pid, `${path}-wal`));
  child.kill('SIGTERM');
  expect(await ended).toEqual([null, 'SIGTERM']);
  other.close();
});

test('a relink that waits to write, or writes, is ended by the signal', async () => {
  const path = await databaseOf(blog(1, 'ada'));
  const other = new Database(path);
  other.exec('BEGIN IMMEDIATE');
  const child = vitrine(['media', 'relink', '--database-url', path]);
  const ended = once(child, 'exit');
  await until('it to open the database', () => child.exitCode !== null || hasOpen(child.pid, `${path}-wal`));
  child.kill('SIGTERM');
  expect(await ended).toEqual([null, 'SIGTERM']);
  other.close();
});

test('a server that writes the files it is to serve is ended by the signal', async () => {
  const folder = tempFolder();
  const read = join(folder, 'read');
  const binding = createRequire(import.meta.url).resolve('better-sqlite3');
  // It holds up the writing, for which SQLite waits for a minute.
  const map = tempFile(
    'map.mjs',
    `import { readdirSync, writeFileSync } from 'node:fs';
     import { createRequire } from 'node:module';
     export default (record) => record;
     export function end() {
       const [served] = readdirSync(${JSON.stringify(folder)}).filter((name) => name.startsWith('vitrine-served-'));
       const Database = createRequire(import.meta.url)(${JSON.stringify(binding)});
       globalThis.other = new Database(${JSON.stringify(folder)} + '/' + served + '/next.db');
       globalThis.other.exec('BEGIN IMMEDIATE');
       writeFileSync(${JSON.stringify(read)}, '');
     }`,
  );
  const file = tempFile('people.ndjson', ndjson(blog(2, 'bea')));
  const child = vitrine(['serve', '--port', '0', '--map', map, file], { TMPDIR: folder });
  const ended = once(child, 'exit');
  await until('all records to be read', () => child.exitCode !== null || existsSync(read));
  child.kill('SIGTERM');
  // By its own handler if the signal came before the writing began; 1 is what the wait would end with.
  expect([
    [0, null],
    [null, 'SIGTERM'],
  ]).toContainEqual(await ended);
});

test('what others are writing, and what is no database, is not taken for a leftover', async () => {
  const folder = tempFolder();
  const id = '00000000-0000-4000-8000-000000000000';
  const text = tempFile(`copy.db.${id}.unfinished`, 'no database '.repeat(100));
  const first = vitrine(['snapshot', '--database-url', large, join(folder, 'copy.db')]);
  const ended = once(first, 'exit');
  await until('the copy', () => first.exitCode !== null || isWriting(join(folder, 'x')));
  await done(['snapshot', '--database-url', large, join(folder, 'copy.db')]);
  expect((await ended)[0]).toBe(0);
  await done(['snapshot', '--database-url', large, join(dirname(text), 'copy.db')]);
  expect(statSync(text).size).toBe(1200);
});

test('takedown of a list stops after a part of it', async () => {
  const file = await databaseOf(blog(1, 'ada'));
  const nobody = Array.from({ length: 50_000 }, (_, n) => `nobody.${n}\n`);
  const users = tempFile('gone.txt', ['ada\n', ...nobody].join(''));
  // With the addresses of the first part. From here the signal might come after the last one.
  const preload = loadedFirst(`process.stdout.write = (...args) => {
      delete process.stdout.write;
      process.kill(process.pid, 'SIGTERM');
      return process.stdout.write(...args);
    };`);
  const env = { DATABASE_URL: file, NODE_OPTIONS: preload };
  const child = vitrine(['takedown', '--family', 'microblog', '--users', users], env);
  const messages = text(child.stderr as Readable);
  expect(await messages).toMatch(/stopped after \d+ of 50001 users: run the command again/);
});

test('takedown of a list fails if nobody reads its addresses, and prints them as errors', async () => {
  const people = Array.from({ length: 1500 }, (_, n) => blog(n + 1, `user.${n}`));
  const file = await databaseOf(...people);
  const users = tempFile('gone.txt', people.map((_, n) => `user.${n}\n`).join(''));
  const child = vitrine(['takedown', '--family', 'microblog', '--users', users], { DATABASE_URL: file });
  child.stdout?.destroy();
  const messages = text(child.stderr as Readable);
  expect((await once(child, 'exit'))[0]).toBe(1);
  const lines = (await messages).trimEnd().split('\n');
  expect(lines.shift()).toBe(
    'these addresses may be missing from standard output, and the next run does not know them:',
  );
  expect(lines.pop()).toBe(
    'vitrine: cannot write to standard output: broken pipe; stopped after 1000 of 1500 users: run the command again',
  );
  const first = people.slice(0, 1000).map(({ username }) => `/a/api/?user=${username}`);
  expect(lines.filter((line) => line.startsWith('/a/api/') && !line.includes('&')).sort()).toEqual(
    first.sort(),
  );
});
