// Copies of pictures that move to another URL under load.
import { expect, test } from 'vitest';
import { saveMedia } from '../importing.ts';
import { sha256 } from '../pictures.ts';
import { folio, shot } from '../records.ts';
import { ask, databaseOf, done, startServer } from '../rig.ts';
import { startLoad } from '../stress.ts';

const names = Array.from({ length: 20 }, (_, n) => `user${n + 1}`);

const shotsOf = (base: string, user: number) =>
  Array.from({ length: user % 17 }, (_, n) => {
    const id = user * 100 + n;
    const date = `2024-01-${String(n + 1).padStart(2, '0')} 00:00:00`;
    return shot(id, user, { image: `${base}/moved/${id}`, large_image: `${base}/large/${id}?size=2`, date });
  });

test('under load, no response mixes two addresses of copies', async () => {
  const covers = { avatar: 'https://old.example/a', cover_image: 'https://old.example/b' };
  const records = names.flatMap((name, index) => [
    folio(index + 1, name, covers),
    ...shotsOf('https://old.example', index + 1),
  ]);
  const database = await databaseOf(...records);
  const urls = new Set(JSON.stringify(records).match(/https:[^"]+/g));
  const entries = [...urls].map((url) => ({ url, file: `${sha256(url)}.png`, bytes: 1, reason: null }));
  await saveMedia(database, entries);
  await done(['media', 'relink', '--database-url', database, '--media-url', 'https://address0.example']);

  const server = await startServer({ DATABASE_URL: database, WORKERS: '2' });
  const addresses = names.flatMap((name) => [`/b/api/username/${name}`, `/b/api/username/${name}/shots`]);
  const load = startLoad(server, addresses, (_, { status, body }) => {
    const seen = new Set([...body.matchAll(/https:\/\/(address\d+|old)\.example/g)].map(([, name]) => name));
    return status === 200 && seen.size <= 1 && !seen.has('old') ? undefined : `${status} ${[...seen]}`;
  });
  for (let newest = 1; newest <= 20; newest++) {
    const mediaUrl = `https://address${newest}.example`;
    await done(['media', 'relink', '--database-url', database, '--media-url', mediaUrl]);
    expect((await ask(server, addresses[0] as string)).body).toContain(`${mediaUrl}/`);
  }
  expect(load.answered()).toBeGreaterThan(100);
  expect(await load.stop()).toEqual([]);
}, 120_000);
