// An import that fills the disk fails with one message; the old data is kept and served.
import { copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { people } from '../bench/data.ts';
import { ndjson, tempFile, tempFolder } from '../files.ts';
import { exported } from '../importing.ts';
import { startSite } from '../mirror-site.ts';
import { png } from '../pictures.ts';
import { folio } from '../records.ts';
import { ask, databaseOf, run, spawned, startServer } from '../rig.ts';
import { canMount, onDisk } from '../small-disk.ts';
import { bodiesOf, generation, generationOf } from '../stress.ts';

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
  const ROOMS = [0, 0.3, 0.9, 1.2, 1.5, 1.8, 2.2, 4].flatMap((share) => [
    [share, 'there'] as const,
    [share, 'elsewhere'] as const,
  ]);
  test.each(ROOMS.filter((_, index) => index % 4 !== 1))(
    'with room for %d of it, and temporary files %s',
    async (share, temporary) => {
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
    },
  );

  test('ends a fetch of pictures with a sentence, and what is saved is whole', async () => {
    const site = await startSite(({ url = '' }, response) => void response.end(png(url.padEnd(30_000, '.'))));
    const users = Array.from({ length: 100 }, (_, n) =>
      folio(n + 1, `user${n}`, { avatar: `${site.url}/${n}` }),
    );
    const database = await databaseOf(...users);
    const media = (command: string, mediaDir: string, ...more: string[]) =>
      run(['media', command, '--database-url', database, '--media-dir', mediaDir, ...more]);
    const hosts = ['--start-rate', '10000', '--rate', '10000', '--media-hosts', new URL(site.url).host];
    await onDisk(1024, async (folder) => {
      const { code, stderr } = await media('fetch', folder, ...hosts);
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/^vitrine: cannot write .*no space left[^\n]*\n$/),
      ]);
      const checked = await media('check', folder);
      expect([checked.code, checked.stdout]).toEqual([
        0,
        expect.stringMatching(/^copies: [1-9]\d sound, 0 missing/),
      ]);
    });
    expect((await media('fetch', tempFolder(), ...hosts)).code).toBe(0);
  });
});
