// A command that fills a disk fails with one message; the old data is kept and served, and the command continues when there is
// room. So does an import without rights.
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { openWriter } from '../../src/stores/open.ts';
import type { Writer } from '../../src/stores/writer.ts';
import { people } from '../bench/data.ts';
import { databaseOf } from '../support/database.ts';
import { ndjson, tempFile, tempFolder } from '../support/files.ts';
import { ask } from '../support/http.ts';
import { exported, newPath } from '../support/importing.ts';
import { copiesIn } from '../support/media-folder.ts';
import { crowd, mirrorArgs, mirrorHere, namesIn, startFiles, startSite } from '../support/mirror-site.ts';
import { svg } from '../support/pictures.ts';
import { folio } from '../support/records.ts';
import { done, spawned, vitrine } from '../support/run.ts';
import { startServer } from '../support/server.ts';
import { bodiesOf, generation, generationOf } from '../support/stress.ts';
import { canMount, grow, onDisk } from './small-disk.ts';

const sizeOf = (path: string) => statSync(path).size;

describe.skipIf(!canMount)('a full disk', () => {
  const small = generation(1);
  const large = ndjson(...people(300, 15));
  let smallDatabase: string;
  let input: string;
  let grown: number;
  beforeAll(async () => {
    smallDatabase = await databaseOf(...small);
    input = tempFile('large.ndjson', large);
    grown = sizeOf(await databaseOf(input));
  });

  // In units of the new data's size: the WAL needs the same again, and so do temporary files.
  const ROOMS = [0, 0.3, 0.9, 1.2, 1.5, 1.8, 2.2, 4].map(
    (share, index) => [share, index % 2 === 0 ? 'there' : 'elsewhere'] as const,
  );
  test.each(ROOMS)('with room for %d of it, and temporary files %s', async (share, temporary) => {
    const kib = Math.ceil((sizeOf(smallDatabase) + 65_536 + share * grown) / 1024);
    await onDisk(kib, async (folder) => {
      const path = join(folder, 'site.db');
      copyFileSync(smallDatabase, path);
      const before = await exported(path);
      const server = await startServer({ DATABASE_URL: path });
      const env: Record<string, string> = temporary === 'there' ? { SQLITE_TMPDIR: folder } : {};
      const ran = await spawned(['import', '--database-url', path, input], { env });
      const answer = await ask(server, '/b/api/username/user3');
      expect([answer.status, generationOf(answer.body)]).toEqual([200, 1]);
      expect(ran.code === 0 || share < 4).toBe(true);
      if (ran.code === 0) return expect(await exported(path)).not.toEqual(before);
      expect(ran).toMatchObject({ code: 1, stderr: expect.stringMatching(/^vitrine: [^\n]+\n$/) });
      expect(ran.stderr).toMatch(/disk|full|space/i);
      expect(await exported(path)).toEqual(before);
      for (const [address, body] of bodiesOf(small)) expect((await ask(server, address)).body).toBe(body);
      expect(await server.stop()).toBe(0);
    });
  });

  test('a takedown of a list says how many users are taken down', async () => {
    const people = Array.from({ length: 5000 }, (_, n) => folio(n + 1, `user.${n}`));
    const database = await databaseOf(...people);
    const users = tempFile('gone.txt', people.map((_, n) => `user.${n}\n`).join(''));
    await onDisk(Math.ceil(sizeOf(database) / 1024) + 1600, async (folder) => {
      const path = join(folder, 'site.db');
      copyFileSync(database, path);
      const args = ['takedown', '--family', 'portfolio', '--users', users, '--database-url', path];
      const { code, stderr } = await spawned(args);
      const found =
        /^vitrine: The disk is full: nothing of this was written to \S+; stopped after (\d+) of 5000 users: run the command again\n$/;
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(found) });
      const stopped = Number(found.exec(stderr)?.[1]);
      expect(await namesIn(path)).toHaveLength(5000 - stopped);
    });
  });

  test('keeps what a mirror imported, says that notes are missing, and asks again next time', async () => {
    const { names, answer } = crowd(90);
    const site = await startSite((request, response) => {
      response.setHeader('etag', `"${'e'.repeat(900)}"`);
      answer(request, response);
    });
    const database = newPath();
    await onDisk(256, async (folder) => {
      const state = join(folder, 'state');
      await using writer = await openWriter(database);
      /** After the first batch is imported, the disk of the state file is full. */
      const load: Writer['load'] = async (options) => {
        const first = await writer.load(options);
        const finish = async () => {
          const tallies = await first.finish();
          spawnSync('dd', ['if=/dev/zero', `of=${join(folder, 'ballast')}`, 'bs=1k']);
          return tallies;
        };
        return { ...first, finish };
      };
      const full = await mirrorHere(database, site.url, names, { state, writer: { ...writer, load } });
      expect(full.summary).toMatch(/^users: 32 found, /);
      expect(full.faults).toBe(
        `The disk is full: nothing of this was written to ${state}. What was imported stays; the next run asks for it again.\n`,
      );
      expect(full.failure).toBe(
        `given up: The disk is full: nothing of this was written to ${state}; the same command continues where this run ended`,
      );
      expect(await namesIn(database)).toHaveLength(32);
      rmSync(join(folder, 'ballast'));
      const again = await mirrorHere(database, site.url, names.slice(0, 40), { state });
      expect(again.summary).toMatch(/^users: 40 found, 0 unchanged, 0 unknown, 0 failed\n/);
    });
  });

  test('ends a mirror that reports what it has imported, and whose next run continues', async () => {
    const large = Array.from({ length: 32 }, (_, n) =>
      folio(n + 100, `large${n}`, { bio: 'x'.repeat(20_000) }),
    );
    const more = large.map((profile) => [String(profile.username), { profile }] as const);
    const { names, answer } = crowd(31, Object.fromEntries(more));
    const site = await startSite((request, response) => {
      if (request.url?.includes('failing')) response.writeHead(400).end();
      else answer(request, response);
    });
    const users = tempFile('users', ['failing', ...names, ...more.map(([name]) => name)].join('\n'));
    await onDisk(600, async (folder) => {
      const database = join(folder, 'site.db');
      const [state, failed] = ['state', 'failed'].map((name) => join(tempFolder(), name)) as [string, string];
      const args = mirrorArgs(
        database,
        'b',
        site.url,
        '--users',
        users,
        '--state',
        state,
        '--failed',
        failed,
      );
      const { code, stdout, stderr } = await spawned(args);
      expect(stdout).toMatch(/^users: 31 found, 0 unchanged, 0 unknown, 1 failed\n/);
      const full = `given up: The disk is full: nothing of this was written to ${database}; the same command continues where this run ended`;
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringContaining(`\nvitrine: ${full}; 1 of 64 users failed\n`),
      });
      expect(readFileSync(failed, 'utf8')).toMatch(/^failing\t.*\n$/);
      expect(await namesIn(database)).toHaveLength(31);
      grow(folder);
      expect((await spawned(args)).stdout).toMatch(
        /^users: 32 found, .*, 31 already done by the unfinished run\n/,
      );
      expect(await namesIn(database)).toHaveLength(63);
    });
  });

  test.each(['media fetch', 'mirror'])(
    'of pictures ends %s, which links what it has copied, and continues',
    async (command) => {
      const { names, answer } = crowd(10);
      const pictures = names.map((_, n) => [`/${n}`, svg(`<desc>${n}${' '.repeat(60_000)}</desc>`)] as const);
      const people: object[] = [];
      const site = await startFiles(Object.fromEntries(pictures), (request, response) => {
        const [, name, items] = /^\/api\/username\/(\w+)(\/shots)?$/.exec(request.url as string) ?? [];
        if (items !== undefined) answer(request, response);
        else response.end(JSON.stringify(people[names.indexOf(name as string)]));
      });
      people.push(...names.map((name, n) => folio(n + 1, name, { avatar: `${site.url}/${n}` })));
      const database = await databaseOf(...people);
      await onDisk(300, async (folder) => {
        const copies = ['--media-dir', join(folder, 'media'), '--media-hosts', site.host];
        const args =
          command === 'mirror'
            ? [...mirrorArgs(newPath(), 'b', site.url, '--user', ...names), '--media', ...copies]
            : ['media', 'fetch', '--database-url', database, '--rate', '5000', ...copies];
        const { code, stdout, stderr } = await spawned(args);
        const [, made = '0'] =
          /^pictures: (\d+) fetched, 0 already here, 0 gone, 0 failed$/m.exec(stdout) ?? [];
        expect(Number(made)).toBeGreaterThan(0);
        expect(stdout).toContain(`(profiles and lists rebuilt: ${made})\n`);
        const full = `given up: cannot write ${folder}/media: no space left on device; the same command continues where this run ended`;
        expect({ code, stderr }).toEqual({ code: 1, stderr: `vitrine: ${full}\n` });
        expect(copiesIn(join(folder, 'media'))).toHaveLength(Number(made));
        expect(readdirSync(join(folder, 'media', 'incoming'))).toEqual([]);
        grow(folder);
        expect(await done(args)).toContain(
          `pictures: ${10 - Number(made)} fetched, ${made} already here, 0 gone, 0 failed\n`,
        );
      });
    },
  );

  test('without room for the index of a database is named', async () => {
    await onDisk(Math.ceil(sizeOf(smallDatabase) / 1024) + 8, async (folder) => {
      const path = join(folder, 'site.db');
      copyFileSync(smallDatabase, path);
      const { code, stderr } = await spawned(['check', '--database-url', path]);
      const full = `The disk is full: there is no room for ${path}-shm, without which ${path} cannot be opened.`;
      expect({ code, stderr }).toEqual({ code: 1, stderr: `vitrine: ${full}\n` });
    });
  });

  test('of temporary files is named', async () => {
    const users = tempFile(
      'users',
      Array.from({ length: 200_000 }, (_, n) => `${n}${'x'.repeat(50)}\n`).join(''),
    );
    await onDisk(64, async (folder) => {
      const args = mirrorArgs(newPath(), 'b', 'http://127.0.0.1:1', '--users', users);
      const { code, stderr } = await spawned(args, { env: { SQLITE_TMPDIR: folder } });
      const full =
        'the disk of temporary files is full: make room there, or set SQLITE_TMPDIR to a folder on another disk';
      expect({ code, stderr }).toEqual({ code: 1, stderr: `vitrine: ${full}\n` });
    });
  });
});

test.runIf(process.getuid?.() === 0)('a log that another account has left is named', async () => {
  const database = await databaseOf(folio(1, 'ada'));
  const folder = dirname(database);
  for (const path of [dirname(folder), folder]) chmodSync(path, 0o777);
  writeFileSync(`${database}-wal`, '', { mode: 0o600 });
  const child = vitrine(['count', '--database-url', database], {}, { uid: 65_534 });
  child.stdin?.end();
  expect(await text(child.stderr as Readable)).toBe(
    `vitrine: ${database} cannot be opened: ${database}-wal, which belongs to uid 0, cannot be read by uid 65534.\n`,
  );
});

test.runIf(process.getuid?.() === 0)('a folder of another owner is named with both accounts', async () => {
  const folder = tempFolder();
  chmodSync(dirname(folder), 0o755);
  chmodSync(folder, 0o755);
  // The account that `.ci/run` gives the checkout to: no other can read the program there.
  const uid = 65_534;
  const child = vitrine(['import', '--database-url', 'site.db', '-'], {}, { cwd: folder, uid });
  child.stdin?.end(ndjson(folio(1, 'ada')));
  expect(await text(child.stderr as Readable)).toBe(
    'vitrine: site.db cannot be opened: ., which belongs to uid 0, cannot be written by uid 65534.\n',
  );
});
