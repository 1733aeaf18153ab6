// GET /media: copies of pictures, by their hash. Their headers, ranges and wrong names are in
// fixtures/cases/served-files.txt.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { copyPath, type Extension, MEDIA_TYPES } from '../../src/records/copy-files.ts';
import { databaseOf } from '../support/database.ts';
import { fixture } from '../support/files.ts';
import { ask, dial, hearOut, sendRaw } from '../support/http.ts';
import { change } from '../support/importing.ts';
import { putCopy, SVG_WITH_SCRIPT } from '../support/media-folder.ts';
import { blog } from '../support/records.ts';
import { done } from '../support/run.ts';
import { serveHere } from '../support/serve-here.ts';
import { type LocalServer, startServer } from '../support/server.ts';

const TEXT = '0123456789';
const PARTS = Buffer.alloc(200_000, 'abcdefghijklmnopqrstuvwxyz');

/** Puts a file into the folder of a database; returns its name. */
const put = (database: string, ...file: [content: string | Buffer, extension?: Extension]) =>
  putCopy(`${database}.media`, ...file);

const pathOf = (name: string) => join(`${database}.media`, copyPath(name));

let database: string;
let server: LocalServer;
let name: string;
beforeAll(async () => {
  database = await databaseOf(fixture('microblog.ndjson'));
  server = await serveHere({ DATABASE_URL: database, ACCESS_LOG: 'on' });
  name = put(database, TEXT);
});

const get = (file: string, headers: Record<string, string> = {}, method = 'GET') =>
  ask(server, `/media/${file}`, { headers, method });

describe('a picture', () => {
  test.each(Object.entries(MEDIA_TYPES))('.%s is %s', async (extension, type) => {
    const got = await get(put(database, SVG_WITH_SCRIPT, extension as Extension));
    expect([got.status, got.headers['content-type'], got.body]).toEqual([200, type, SVG_WITH_SCRIPT]);
  });

  test('of several parts or of none is sent whole', async () => {
    const large = await get(put(database, PARTS));
    expect([large.headers['content-length'], large.body === PARTS.toString()]).toEqual(['200000', true]);
    const empty = await get(put(database, ''));
    expect([empty.status, empty.headers['content-length'], empty.body]).toEqual([200, '0', '']);
  });

  // Those behind the first are read after Node has given their responses the socket, which its documentation does not name.
  test('that is asked for at once with others comes in its turn', async () => {
    const ask = (file: string, last = '') => `GET /media/${file} HTTP/1.1\r\nHost: x\r\n${last}\r\n`;
    const large = put(database, PARTS);
    const replies = await sendRaw(server, ask(large) + ask(name) + ask(large, 'Connection: close\r\n'));
    expect(replies.map(({ body }) => body)).toEqual([PARTS.toString(), TEXT, PARTS.toString()]);
  });

  test('is sent in part by a range over the border of two parts', async () => {
    const got = await get(put(database, PARTS), { range: 'bytes=65000-190000' });
    expect(got.body === PARTS.toString('utf8', 65_000, 190_001)).toBe(true);
  });

  test('is not sent for a folder, a link, or by a server of sample users', async () => {
    const hash = 'ab'.repeat(32);
    mkdirSync(pathOf(`${hash}.gif`), { recursive: true });
    symlinkSync(database, pathOf(`${hash}.png`));
    for (const file of [`${hash}.gif`, `${hash}.png`]) expect((await get(file)).status).toBe(404);
    const samples = await serveHere({ MEDIA_DIR: `${database}.media` });
    expect((await ask(samples, `/media/${name}`)).status).toBe(404);
  });
});

describe('our own pages show copies', () => {
  const ORIGIN = 'https://pictures.example';
  const AVATAR = Buffer.alloc(100_000, 1);
  const start = async (avatar: string) => {
    const records = [blog(1, 'ada', { avatar, cover_image: 'https://old.example/large.jpg' })];
    const url = await databaseOf(...records);
    const env = { DATABASE_URL: url, MEDIA_DIR: `${database}.media`, MEDIA_URL: `${ORIGIN}/m/` };
    return serveHere({ ...env, IMAGE_HOSTS: 'https://i.example' });
  };

  test('from the origin of MEDIA_URL, on the explorer and the pages of people', async () => {
    const own = await start(`${ORIGIN}/m/ada.png`);
    for (const [path, shown] of [
      ['/', `"imageHosts":["https://i.example","${ORIGIN}"]`],
      ['/people/a/ada', ` src="${ORIGIN}/m/ada.png"`],
    ] as const) {
      const { headers, body } = await ask(own, path);
      const policy = headers['content-security-policy'];
      expect(policy).toContain(`; img-src 'self' data: https://i.example ${ORIGIN};`);
      expect(body).toContain(shown);
      expect(body).not.toContain(' src="https://old.example');
    }
    expect((await ask(own, '/')).headers['content-security-policy']).not.toContain(`script-src 'self' `);
  });

  test('within the image of the card', async () => {
    const own = await start(`${ORIGIN}/m/${put(database, AVATAR, 'png')}`);
    const { body, headers } = await ask(own, '/card/a/ada.svg');
    expect(body).toContain(`<image href="data:image/png;base64,${AVATAR.toString('base64')}"`);
    expect(headers['content-security-policy']).toMatch(/; img-src data:$/);
  });

  test('within the image of the card as soon as it is there and whole', async () => {
    const own = await start(`${ORIGIN}/m/${createHash('sha256').update('late').digest('hex')}.png`);
    const name = put(database, 'late', 'png');
    const known = async (etag = '') => {
      const reply = await ask(own, '/card/a/ada.svg', { headers: { 'if-none-match': etag } });
      return [reply.status, reply.body.includes('<image'), reply.headers.etag] as const;
    };
    rmSync(pathOf(name));
    const [, , missing] = await known();
    expect(await known(missing)).toEqual([304, false, missing]);
    writeFileSync(pathOf(name), 'damaged');
    expect(await known(missing)).toEqual([304, false, missing]);
    put(database, 'late', 'png');
    const [status, isShown, whole] = await known(missing);
    expect({ status, isShown }).toEqual({ status: 200, isShown: true });
    expect(await known(whole)).toEqual([304, false, whole]);
  });

  test.each([
    ['is elsewhere', () => `https://other.example/m/${put(database, AVATAR, 'png')}`],
    ['is large', () => `${ORIGIN}/m/${put(database, PARTS, 'png')}`],
    ['is no picture', () => `${ORIGIN}/m/${put(database, AVATAR, 'pdf')}`],
    ['is missing', () => `${ORIGIN}/m/${'cd'.repeat(32)}.png`],
    [
      'cannot be read',
      () => {
        symlinkSync('ee', join(`${database}.media`, 'ee'));
        return `${ORIGIN}/m/${'ee'.repeat(32)}.png`;
      },
    ],
    ['leads out of the folder', () => `${ORIGIN}/m/../../etc/passwd`],
  ])('but not if the avatar %s', async (_, avatar) => {
    const own = await start(avatar());
    const { status, body } = await ask(own, '/card/a/ada.svg');
    expect([status, body.includes('<image')]).toEqual([200, false]);
  });
});

test('the log has the route, the status and the bytes', async () => {
  await get(put(database, PARTS), { range: 'bytes=0-99999' });
  const lines = () => server.log.map((line) => JSON.parse(line));
  await expect
    .poll(lines)
    .toContainEqual(expect.objectContaining({ name: 'media', variant: 'none', status: 206, bytes: 100_000 }));
});

/** Asks for a file that does not fit into the buffers, and reads only the first bytes. */
async function askAndStall(to: LocalServer, file: string) {
  const socket = await dial(to);
  socket.write(`GET /media/${file} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  expect(first.toString('latin1')).toContain('HTTP/1.1 200 OK');
  return { socket, first };
}

const HUGE = Buffer.alloc(32 * 2 ** 20, 7);

test('a file that is cut or removed while it is sent ends the connection', async () => {
  const file = put(database, HUGE);
  const { socket, first } = await askAndStall(server, file);
  renameSync(pathOf(file), `${pathOf(file)}.old`);
  const heard = hearOut(socket.resume());
  expect((await heard).length + first.length).toBeLessThan(HUGE.length);
  const faults = () => server.log.filter((line) => line.includes('ENOENT'));
  await expect.poll(faults).not.toEqual([]);
  rmSync(`${pathOf(file)}.old`);
});

test('a client that does not read is cut after WRITE_TIMEOUT; one that leaves disturbs nobody', async () => {
  const strict = await serveHere({ DATABASE_URL: database, WRITE_TIMEOUT: '400ms' });
  const file = put(database, HUGE);
  const stalled = await askAndStall(strict, file);
  const gone = await askAndStall(strict, file);
  gone.socket.destroy();
  const isOut = () => strict.log.some((line) => line.includes('did not read'));
  await expect.poll(isOut).toBe(true);
  stalled.socket.destroy();
  expect((await ask(strict, `/media/${name}`)).body).toBe(TEXT);
  expect(strict.log.filter((line) => line.includes('"level":50'))).toEqual([]);
});

test('a server warns once if records name copies under another URL than MEDIA_URL', async () => {
  const url = await databaseOf(fixture('microblog.ndjson'));
  const warningsWith = async (env: Record<string, string>, start = serveHere) => {
    const own = await start({ DATABASE_URL: url, ...env });
    await own.stop();
    return own.log.filter((line) => line.includes('records name copies'));
  };
  expect(await warningsWith({ MEDIA_URL: 'https://new.example/m' })).toEqual([]);
  await change(url, (writer) => writer.relink('https://old.example/m'));
  expect(await warningsWith({ MEDIA_URL: 'https://old.example/m' })).toEqual([]);
  const [warning = '', ...more] = await warningsWith(
    { MEDIA_URL: 'https://new.example/m', WORKERS: '2' },
    startServer,
  );
  expect(more).toEqual([]);
  for (const part of ['"level":40', 'set MEDIA_URL, to https://old.example/m if they are served there'])
    expect(warning).toContain(part);
  // Without a public address, relinking would name the copies under this machine's own.
  expect(String(await warningsWith({}))).toMatch(/localhost.*set MEDIA_URL, to https:\/\/old\.example\/m/);
  expect(String(await warningsWith({}))).not.toContain('relink');
  // As it says, in an environment without MEDIA_URL.
  const [, command = ''] = /run vitrine (media relink --media-url [^ "]+)/.exec(warning) ?? [];
  await done([...command.split(' '), '--database-url', url]);
  expect(await warningsWith({ MEDIA_URL: 'https://new.example/m' })).toEqual([]);
});

test('a client that is quiet after its response counts as one that reads', async () => {
  const own = await serveHere({ DATABASE_URL: database, KEEP_ALIVE_TIMEOUT: '100ms' });
  const socket = await dial(own);
  const heard = hearOut(socket);
  socket.write(`GET /media/${name} HTTP/1.1\r\nHost: x\r\n\r\n`);
  expect(String(await heard)).toContain(TEXT);
  expect(own.log.join('')).not.toContain('did not read');
});

test('a picture on its way is sent to its end while the server stops', async () => {
  const other = await serveHere({ DATABASE_URL: database, SHUTDOWN_GRACE: '50s' });
  const { socket, first } = await askAndStall(other, put(database, HUGE));
  const ended = other.stop();
  const heard = hearOut(socket.resume());
  const length = first.length + (await heard).length - (first.indexOf('\r\n\r\n') + 4);
  expect(length).toBe(HUGE.length);
  expect(await ended).toBe(0);
});
