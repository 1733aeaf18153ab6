// `import` of archives of dead sites: HAR files of browsers, WARC files of crawlers.
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readRecords } from '../src/formats/detect.ts';
import type { Raw } from './expected.ts';
import { tempFile } from './files.ts';
import { into, newPath, recordsIn } from './importing.ts';
import { folio, shot } from './records.ts';

const SITE = 'http://old.example/b';
const ADA = `${SITE}/api/username/ada`;
const profile = (members: Raw = {}) => JSON.stringify(folio(1, 'ada', members));
const list = (...ids: number[]) => JSON.stringify({ Shots: ids.map((id) => shot(id, 1)) });
const DATE = '2020-01-01T00:00:00Z';

interface Answer {
  readonly url?: string;
  readonly date?: string;
  readonly status?: number;
  readonly headers?: string;
  readonly body?: string | Buffer;
}

function warcRecord({ url = ADA, date = DATE, status = 200, headers = '', body = '' }: Answer) {
  const block = Buffer.concat([Buffer.from(`HTTP/1.1 ${status} OK\r\n${headers}\r\n`), Buffer.from(body)]);
  const head = `WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: ${url}\r\nWARC-Date: ${date}\r\n`;
  return Buffer.concat([
    Buffer.from(`${head}Content-Length: ${block.length}\r\n\r\n`),
    block,
    Buffer.from('\r\n\r\n'),
  ]);
}

const warc = (...answers: Answer[]) => Buffer.concat(answers.map(warcRecord));

const harEntry = ({ url = ADA, date = DATE, status = 200, body = '' }: Answer, content: object = {}) => ({
  startedDateTime: date,
  request: { method: 'GET', url },
  response: {
    status,
    content: { size: Buffer.byteLength(body), mimeType: 'text/html', text: String(body), ...content },
  },
});
const har = (...entries: object[]) =>
  JSON.stringify(
    { log: { version: '1.2', pages: [{ id: '1' }], entries, comment: '' } },
    null,
    entries.length > 1 ? 0 : 2,
  );

/** The records that an archive gives, and what was said of it. */
async function importArchives(...files: (string | Buffer)[]) {
  const path = newPath();
  const { code, stderr } = await into(path, [
    '--skip-invalid',
    ...files.map((file) => tempFile('archive', file)),
  ]);
  const records = code === 0 ? (await recordsIn(path)).map((line) => JSON.parse(line)) : [];
  return { said: stderr.replaceAll(/\S+\/archive/g, 'archive'), records };
}

const chunked = (body: string, end = '0\r\n\r\n') =>
  `3;x=1\r\n${body.slice(0, 3)}\r\n${(body.length - 3).toString(16)}\r\n${body.slice(3)}\r\n${end}`;

test.each<[what: string, headers: string, body: string | Buffer]>([
  ['plain', '', profile()],
  ['chunked', 'Transfer-Encoding: chunked\r\n', chunked(profile())],
  [
    'chunked, with a chunk for each byte',
    'Transfer-Encoding: chunked\r\n',
    `${[...profile(), ...' '.repeat(60_000)].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`,
  ],
  ['named chunked, but joined', 'transfer-encoding: chunked\r\n', profile()],
  ['gzip', 'Content-Encoding: gzip\r\n', gzipSync(profile())],
  ['deflate', 'content-encoding: deflate\r\n', deflateSync(profile())],
  ['br', 'content-encoding: br\r\n', brotliCompressSync(profile())],
  ['zstd', 'content-encoding: zstd\r\n', zstdCompressSync(profile())],
  ['gzip in gzip', 'content-encoding: gzip, gzip\r\n', gzipSync(gzipSync(profile()))],
  ['named br, but unpacked', 'content-encoding: br\r\ncontent-length: 9\r\n', profile()],
])('WARC: a body that is %s', async (_, headers, body) => {
  const { said, records } = await importArchives(warc({ headers, body }));
  expect([said, records]).toEqual(['', [expect.objectContaining({ username: 'ada' })]]);
});

const UNUSABLE =
  'archive:1: record: the body of http://old.example/b/api/username/ada cannot be used: not valid';

test.each<[what: string, archive: string | Buffer, words: string]>([
  [
    'a chunked WARC body',
    warc({ headers: 'transfer-encoding: chunked\r\n', body: chunked(profile().slice(0, 30), '') }),
    UNUSABLE,
  ],
  [
    'a gzip WARC body',
    warc({ headers: 'content-encoding: gzip\r\n', body: gzipSync(profile()).subarray(0, 60) }),
    UNUSABLE,
  ],
  [
    'a WARC file',
    warc({ body: profile() }).subarray(0, -20),
    'archive:1: record: the archive is cut off in this record, http://old.example/b/api/username/ada',
  ],
  ['a HAR body', har(harEntry({ body: '{"id":' })), 'archive:10: record: the body of http://old.example/b'],
  ['a HAR file', har(harEntry({ body: profile() })).slice(0, 200), 'this record is not closed'],
  ['a web page', har(harEntry({ body: '<html>' })), 'a web page instead of JSON'],
  ['a list of something else', warc({ url: `${ADA}/shots`, body: '{}' }), 'it has no list of items'],
])('names %s that cannot be used', async (_, archive, words) => {
  expect((await importArchives(archive)).said).toContain(words);
});

test('the newest whole capture of each address wins, in whatever file and style it is', async () => {
  const items = `${ADA}/shots`;
  const { said, records } = await importArchives(
    warc(
      { date: '2021-01-01T00:00:00Z', body: profile({ name: 'second' }) },
      {
        date: '2020-01-01T00:00:00Z',
        body: profile({ name: 'first' }),
      },
      { date: '2022-01-01T00:00:00Z', status: 404, body: 'gone' },
      { url: items, date: '2020-01-01T00:00:00Z', body: list(5, 6) },
      { url: 'http://old.example/style.css', body: 'p {}' },
      { url: 'http://old.example/a/api/?post=true&user=ada', body: JSON.stringify({ posts: [] }) },
    ),
    har(
      harEntry({ url: items, date: '2023-01-01T00:00:00.000+02:00', body: list(6, 7) }),
      harEntry({ url: items, date: '2024-01-01T00:00:00.000Z', body: list(8).slice(0, 30) }),
    ),
  );
  expect(records.map(({ id, name }) => name ?? id)).toEqual(['6', '7', 'second']);
  expect(said).toBe(
    'warning: bodies that cannot be used, in whose place are others of the same address: 1. The first is archive:1: http://old.example/b/api/username/ada/shots: not valid JSON: Unexpected end of JSON input\n',
  );
});

test('addresses are resolved, HAR bodies may be base64, and entries that are too long are passed over', async () => {
  const films = { url: 'http://old.example/film', body: 'x'.repeat(9_000_000) };
  const encoded = Buffer.from(profile({ avatar: 'img/a.png' })).toString('base64');
  const records = [expect.objectContaining({ avatar: `${SITE}/img/a.png` })];
  expect(
    await importArchives(har(harEntry(films), harEntry({}, { encoding: 'base64', text: encoded }))),
  ).toEqual({ said: '', records });
  expect(await importArchives(warc(films, { body: profile({ avatar: 'img/a.png' }) }))).toEqual({
    said: '',
    records,
  });
});

test.each(['0.5', '-1', '9007199254740993'])('names a WARC record whose length is %s', async (length) => {
  const archive = String(warc({ body: profile() })).replace(
    /Content-Length: \d+/,
    `Content-Length: ${length}`,
  );
  expect((await importArchives(archive)).said).toContain('record 1 of the archive is malformed');
});

test('addresses that are not of the web are passed over', async () => {
  const path = 'x/api/username/ada';
  const others = [`file:///${path}`, `chrome-extension://${path}`, 'blob:http://x/api/username/ada'];
  const { said, records } = await importArchives(
    har(...[...others, ADA].map((url) => harEntry({ url, body: profile({ name: 'Ada' }) }))),
    warc(...others.map((url) => ({ url, body: profile({ name: 'other' }) }))),
  );
  expect([said, records]).toEqual(['', [expect.objectContaining({ name: 'Ada' })]]);
});

test('an archive without answers of this API', async () => {
  for (const archive of [har(harEntry({ url: SITE })), warc({ url: SITE, body: '{}' })])
    expect((await importArchives(archive)).said).toContain('the archives hold no answers of this API');
});

test.each([1, 7, 1000])('pieces of %i bytes', async (size) => {
  const bytes = (content: string | Buffer) => Buffer.from(content);
  for (const archive of [warc({ body: profile() }, { body: list() }), har(harEntry({ body: profile() }))].map(
    bytes,
  )) {
    const urls: string[] = [];
    async function* pieces() {
      for (let at = 0; at < archive.length; at += size) yield archive.subarray(at, at + size);
    }
    const onCapture = ({ url }: { url: string }) => void urls.push(url);
    for await (const batch of readRecords(pieces(), { onCapture })) expect(batch).toEqual([]);
    expect(new Set(urls)).toEqual(new Set([ADA]));
  }
});
