// An import that fills the disk fails with one message; the old data is kept and served. So is one without rights.
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { openWriter } from '../../src/stores/open.ts';
import type { Writer } from '../../src/stores/writer.ts';
import { people } from '../bench/data.ts';
import { ndjson, tempFile, tempFolder } from '../support/files.ts';
import { exported, newPath } from '../support/importing.ts';
import { crowd, mirrorHere, namesIn, startSite } from '../support/mirror-site.ts';
import { folio } from '../support/records.ts';
import { ask, databaseOf, spawned, startServer, vitrine } from '../support/rig.ts';
import { canMount, onDisk } from '../support/small-disk.ts';
import { bodiesOf, generation, generationOf } from '../support/stress.ts';

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
      expect([ran.code, ran.stderr]).toEqual([1, expect.stringMatching(/^vitrine: [^\n]+\n$/)]);
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
      expect([code, stderr]).toEqual([1, expect.stringMatching(found)]);
      const stopped = Number(found.exec(stderr)?.[1]);
      expect(await namesIn(path)).toHaveLength(5000 - stopped);
    });
  });

  test('does not undo what a mirror has imported: it says that notes are missing, and the next run asks again', async () => {
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
