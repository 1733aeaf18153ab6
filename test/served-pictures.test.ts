// `vitrine serve FILE…`: relative pictures of records are served below /files/, from the folder of the files.
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { fixture, ndjson, tempFile, tempFolder } from './files.ts';
import { png } from './pictures.ts';
import { ask, databaseOf, json, type LocalServer, prepareServe } from './rig.ts';
import { serveHere } from './serve-here.ts';
import { until } from './stress.ts';

const MIRA = { id: '1', username: 'mira', name: 'Mira', skills: 'type', avatar: 'img/mira.png' };
const FERRY = {
  id: '2',
  user_id: '1',
  date: '2026-02-28',
  image: '/ferry bild.JPEG',
  large_image: './f.svg',
};
const PROFILE = '/b/api/username/mira';
const FILES = 'http://127.0.0.1:8080/files/';

const outside = tempFolder();
const encoded = encodeURI(outside);
const folder = tempFolder();
const put = (name: string, content: string | Buffer, where = folder) =>
  writeFileSync(join(where, name), content);
const serveFile = async (name: string, content: string, ...args: string[]) => {
  put(name, content);
  return serveHere({}, [join(folder, name), ...args]);
};

let server: LocalServer;
const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  ask(server, path, { headers, method });

beforeAll(async () => {
  for (const name of ['img', '.git', 'folder.png']) mkdirSync(join(folder, name));
  put('img/mira.png', 'portrait');
  put('ferry bild.JPEG', 'ferry');
  put('f.svg', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
  put('large.webp', Buffer.alloc(200_000, 'abcdefghijklmnopqrstuvwxyz'));
  for (const name of ['.env', '.env.png', '.git/x.png', 'notes.txt', 'page.html', 'paper.pdf', 'png'])
    put(name, 'secret');
  put('secret.png', 'secret', outside);
  symlinkSync(join(outside, 'secret.png'), join(folder, 'out.png'));
  symlinkSync(outside, join(folder, 'out'));
  symlinkSync('.env.png', join(folder, 'hidden.png'));
  symlinkSync('notes.txt', join(folder, 'text.png'));
  symlinkSync('loop.png', join(folder, 'loop.png'));
  symlinkSync('img/mira.png', join(folder, 'inside.png'));
  execFileSync('mkfifo', [join(folder, 'pipe.png')]);
  server = await serveFile('people.ndjson', ndjson(MIRA, FERRY));
});

describe('relative pictures', () => {
  test('have absolute addresses, at which the file beside the records is sent', async () => {
    const { avatar } = json(await get(PROFILE));
    const [{ image, large_image }] = json(await get(`${PROFILE}/shots`)).Shots;
    expect([avatar, image, large_image]).toEqual(
      ['img/mira.png', 'ferry%20bild.JPEG', 'f.svg'].map((name) => FILES + name),
    );
    const picture = await get(new URL(avatar).pathname);
    expect([picture.status, picture.body]).toEqual([200, 'portrait']);
    expect(picture.headers).toMatchObject({
      'content-type': 'image/png',
      'content-length': '8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'cross-origin',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    });
    expect((await get(new URL(image).pathname)).headers['content-type']).toBe('image/jpeg');
    const { headers } = await get(new URL(large_image).pathname);
    expect([headers['content-type'], headers['content-security-policy']]).toEqual([
      'image/svg+xml',
      expect.stringContaining('sandbox'),
    ]);
  });

  test('can be shown by other sites, and not read by their scripts', async () => {
    const { headers } = await get('/files/img/mira.png', { origin: 'https://elsewhere.example' });
    expect(headers).not.toHaveProperty('access-control-allow-origin');
    const own = await serveHere({ CORS_ORIGIN: 'http://localhost:5173' }, [join(folder, 'people.ndjson')]);
    const asked = await ask(own, '/files/img/mira.png', { headers: { origin: 'http://localhost:5173' } });
    expect(asked.headers['access-control-allow-origin']).toBe('http://localhost:5173');
  });

  test('are completed in the shape of json-server, in CSV, and where a map returns them', async () => {
    const { avatar, ...others } = MIRA;
    const map = tempFile(
      'map.mjs',
      'export default (person, kit) => ({ ...person, avatar: person.face, cover_image: kit.media("/img/mira.png") });',
    );
    for (const [name, content, ...args] of [
      ['db.json', JSON.stringify({ users: [MIRA], shots: [FERRY] })],
      ['people.csv', `id,username,skills,avatar\n1,mira,type,${avatar}\n`],
      ['mapped.json', JSON.stringify([{ ...others, face: avatar }]), '--map', map],
    ] as const) {
      const other = await serveFile(name, content, ...args);
      const profile = json(await ask(other, PROFILE));
      expect([name, profile.avatar]).toEqual([name, `${FILES}img/mira.png`]);
      if (args.length > 0) expect(profile.cover_image).toBe(`${FILES}img/mira.png`);
      expect((await ask(other, '/files/img/mira.png')).body).toBe('portrait');
      await other.stop();
    }
  });

  test('of an export are in the folder that is named', async () => {
    const map = tempFile(
      'map.mjs',
      String.raw`export const files = /people\.json$/; export default (person) => person;`,
    );
    const root = tempFolder();
    mkdirSync(join(root, 'data'));
    put('data/people.json', JSON.stringify([{ ...MIRA, avatar: 'face.png' }]), root);
    put('face.png', png('face'), root);
    const other = await serveHere({}, [root, '--map', map]);
    expect(json(await ask(other, PROFILE)).avatar).toBe(`${FILES}face.png`);
    expect((await ask(other, '/files/face.png')).headers['content-type']).toBe('image/png');
  });

  test('are sent in parts, by ranges, and not to a browser that has them, until they change', async () => {
    const { headers, body } = await get('/files/large.webp');
    expect([headers['content-length'], body.length]).toEqual(['200000', 200_000]);
    const part = await get('/files/large.webp', { range: 'bytes=65000-190000' });
    expect([part.status, part.body]).toEqual([206, body.slice(65_000, 190_001)]);
    const head = await get('/files/large.webp', {}, 'HEAD');
    expect([head.status, head.headers['content-length'], head.body]).toEqual([200, '200000', '']);
    const known = { 'if-none-match': String(headers.etag) };
    expect((await get('/files/large.webp', known)).status).toBe(304);
    put('large.webp', 'new');
    expect((await get('/files/large.webp', known)).body).toBe('new');
  });

  test.each([
    '../secret.png',
    'img/../../secret.png',
    '//elsewhere.example/x.png',
    'no picture',
    'file:///x.png',
  ])('%s is refused', async (avatar) => {
    const file = join(folder, 'wrong.ndjson');
    put('wrong.ndjson', ndjson({ ...MIRA, avatar }));
    const { stderr } = await prepareServe(['serve', file]);
    expect(stderr).toContain('avatar: must be an absolute http or https URL');
  });

  test('need one folder of all files, or --files-url', async () => {
    const other = tempFile('shots.ndjson', ndjson(FERRY));
    const files = [join(folder, 'people.ndjson'), other];
    const { stderr } = await prepareServe(['serve', ...files]);
    expect(stderr).toContain('avatar: must be an absolute http or https URL');
    const elsewhere = await serveHere({}, [...files, '--files-url', 'https://files.example.org/x']);
    expect(json(await ask(elsewhere, PROFILE)).avatar).toBe('https://files.example.org/x/img/mira.png');
    expect((await ask(elsewhere, '/files/img/mira.png')).status).toBe(404);
  });
});

describe('nothing else is served', () => {
  const long = `${'x'.repeat(300)}.png`;
  test.each([
    [
      'files that are no pictures',
      ['notes.txt', 'page.html', 'paper.pdf', 'people.ndjson', 'png', 'x.toString', ''],
    ],
    ['hidden files', ['.env', '.env.png', '.git/x.png', 'img/../.env.png', 'hidden.png']],
    [
      'what is outside',
      ['../secret.png', '%2e%2e/secret.png', '..%2fsecret.png', 'img/%2e%2e%2f..%2fsecret.png'],
    ],
    ['what is outside, by a whole path', [`${encoded}/secret.png`, `%2f${encoded.slice(1)}/secret.png`]],
    ['links that lead out, or to other files', ['out.png', 'out/secret.png', 'text.png', 'loop.png']],
    ['what is no file', ['pipe.png', 'folder.png', 'img', 'img/', 'none.png', 'img/mira.png/x.png']],
    ['impossible names', ['img/mira.png%00', '%00.png', 'img%5cmira.png', long]],
  ])('%s', async (_, names) => {
    for (const name of names)
      for (const method of ['GET', 'HEAD']) {
        const { status, body } = await get(`/files/${name}`, {}, method);
        expect([name, status, body.includes('secret')]).toEqual([name, 404, false]);
      }
  });

  test('but links that stay inside are followed', async () => {
    expect((await get('/files/inside.png')).body).toBe('portrait');
  });

  test('nor anything with a database or the sample users', async () => {
    const database = await databaseOf(fixture('portfolio.ndjson'));
    put('beside.png', 'secret', join(database, '..'));
    for (const started of [serveHere({ DATABASE_URL: database }), serveHere()])
      expect((await ask(await started, '/files/beside.png')).status).toBe(404);
  });
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
