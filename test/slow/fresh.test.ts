// The next response shows what an import committed.
import { beforeAll, describe, expect, test } from 'vitest';
import { blog, folio, post } from '../records.ts';
import {
  ask,
  databaseOf,
  done,
  importInto,
  ndjson,
  type Server,
  startServer,
  tempFile,
  vitrine,
} from '../rig.ts';

describe('a running server', () => {
  let path: string;
  let server: Server;
  beforeAll(async () => {
    path = await databaseOf(tempFile('ada.ndjson', ndjson(blog(12, 'ada'), folio(7, 'ada'))));
    server = await startServer({ DATABASE_URL: path });
  });

  test('shows added, removed and renamed users', async () => {
    const statusOf = async (name: string) => (await ask(server, `/a/api/?user=${name}`)).status;
    const become = (name: string) =>
      done(['import', '--database-url', path, '-'], {
        input: ndjson(blog(77, name)),
      });
    expect(await statusOf('newcomer')).toBe(404);
    await become('newcomer');
    expect(await statusOf('newcomer')).toBe(200);
    await become('renamed');
    expect([await statusOf('newcomer'), await statusOf('renamed')]).toEqual([404, 200]);
    await done(['remove', '--database-url', path, '--family', 'microblog', 'RENAMED']);
    expect(await statusOf('renamed')).toBe(404);
    await done(['import', '--database-url', path, '--replace', '--max-removed', '100%', '-'], {
      input: ndjson(blog(78, 'alone')),
    });
    expect([await statusOf('alone'), await statusOf('ada')]).toEqual([200, 404]);
    expect((await ask(server, '/b/api/username/ada')).status).toBe(200);
  });

  test('shows all of an import or nothing, and answers every request meanwhile', async () => {
    const crowd = (mark: string) =>
      ndjson(
        blog(1, 'crowd', { bio: mark }),
        ...Array.from({ length: 20_000 }, (_, index) => post(index + 100, 1, { post_details: mark })),
      );
    await importInto(path, ['-'], crowd('old'));
    const child = vitrine(['import', '--database-url', path, '-']);
    let ended: number | null | undefined;
    child.once('close', (code) => {
      ended = code;
    });
    child.stdin?.end(crowd('new'));
    const seen = new Set<string>();
    for (let last = false; !last; ) {
      last = ended !== undefined;
      const { status, body } = await ask(server, '/a/api/?user=crowd&post=true');
      expect(status).toBe(200);
      const marks = new Set(
        JSON.parse(body).posts.map((post: { post_details: string }) => post.post_details),
      );
      expect(marks.size).toBe(1);
      seen.add([...marks].join());
    }
    expect([ended, [...seen]]).toEqual([0, ['old', 'new']]);
  });
});
