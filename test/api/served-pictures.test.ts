// `vitrine serve FILE…`: pictures are served below /files/, from the folder of the files. The addresses that records have,
// and names that are not served, are in fixtures/cases/served-files.txt.
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { ndjson, tempFolder } from '../support/files.ts';
import { ask, json } from '../support/http.ts';
import { serveHere } from '../support/serve-here.ts';
import type { LocalServer } from '../support/server.ts';
import { until } from '../support/stress.ts';

const MIRA = { id: '1', username: 'mira', name: 'Mira', skills: 'type', avatar: 'img/mira.png' };
const PROFILE = '/b/api/username/mira';

const outside = tempFolder();
const encoded = encodeURI(outside);
const folder = tempFolder();
const put = (name: string, content: string | Buffer, where = folder) =>
  writeFileSync(join(where, name), content);

let server: LocalServer;
const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  ask(server, path, { headers, method });

beforeAll(async () => {
  for (const name of ['img', 'folder.png']) mkdirSync(join(folder, name));
  put('img/mira.png', 'portrait');
  put('large.webp', Buffer.alloc(200_000, 'abcdefghijklmnopqrstuvwxyz'));
  for (const name of ['.env.png', 'notes.txt']) put(name, 'secret');
  put('secret.png', 'secret', outside);
  symlinkSync(join(outside, 'secret.png'), join(folder, 'out.png'));
  symlinkSync(outside, join(folder, 'out'));
  symlinkSync('.env.png', join(folder, 'hidden.png'));
  symlinkSync('notes.txt', join(folder, 'text.png'));
  symlinkSync('loop.png', join(folder, 'loop.png'));
  symlinkSync('img/mira.png', join(folder, 'inside.png'));
  execFileSync('mkfifo', [join(folder, 'pipe.png')]);
  put('people.ndjson', ndjson(MIRA));
  server = await serveHere({}, [join(folder, 'people.ndjson')]);
});

test('a picture is sent by ranges, and not to a browser that has it', async () => {
  const { headers, body } = await get('/files/large.webp');
  expect([headers['content-length'], body.length]).toEqual(['200000', 200_000]);
  const part = await get('/files/large.webp', { range: 'bytes=65000-190000' });
  expect({ status: part.status, body: part.body }).toEqual({
    status: 206,
    body: body.slice(65_000, 190_001),
  });
  const head = await get('/files/large.webp', {}, 'HEAD');
  expect([head.status, head.headers['content-length'], head.body]).toEqual([200, '200000', '']);
  const known = { 'if-none-match': String(headers.etag) };
  expect((await get('/files/large.webp', known)).status).toBe(304);
  put('large.webp', 'new');
  expect((await get('/files/large.webp', known)).body).toBe('new');
});

test.each([
  [
    'links that lead out, or to other files',
    ['out.png', 'out/secret.png', 'text.png', 'hidden.png', 'loop.png'],
  ],
  ['what is no file', ['pipe.png', 'folder.png']],
  ['what is outside, by a whole path', [`${encoded}/secret.png`, `%2f${encoded.slice(1)}/secret.png`]],
])('%s are not served', async (_, names) => {
  for (const name of names)
    for (const method of ['GET', 'HEAD']) {
      const { status, body } = await get(`/files/${name}`, {}, method);
      expect([name, status, body.includes('secret')]).toEqual([name, 404, false]);
    }
});

test('links that stay inside are followed', async () => {
  expect((await get('/files/inside.png')).body).toBe('portrait');
});

test('a saved file that names other pictures has their addresses', async () => {
  const file = join(folder, 'saved.ndjson');
  put('saved.ndjson', ndjson({ ...MIRA, avatar: '' }));
  const other = await serveHere({ BASE_URL_B: 'https://folio.example/b' }, [file]);
  const headers = { host: 'folio.example' };
  put('saved.ndjson', ndjson(MIRA));
  await until('the saved file', async () => {
    const { avatar } = json(await ask(other, PROFILE, { headers }));
    return avatar === 'https://folio.example/files/img/mira.png';
  });
});
