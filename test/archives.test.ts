// `import` of archives of dead sites: HAR files of browsers, WARC files of crawlers.
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readRecords } from '../src/formats/detect.ts';
import type { Raw } from './expected.ts';
import { into, newPath, recordsIn } from './importing.ts';
import { folio, shot } from './records.ts';
import { tempFile } from './rig.ts';

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
  /** Headers of the WARC record. */
  readonly more?: string;
  readonly type?: string;
}

function warcRecord({
  url = ADA,
  date = DATE,
  status = 200,
  headers = '',
  body = '',
  more = '',
  type = 'response',
}: Answer) {
  const block = Buffer.concat([Buffer.from(`HTTP/1.1 ${status} OK\r\n${headers}\r\n`), Buffer.from(body)]);
  const head = `WARC/1.1\r\nWARC-Type: ${type}\r\nWARC-Target-URI: ${url}\r\nWARC-Date: ${date}\r\n${more}`;
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
  ['deflate without the header of zlib', 'content-encoding: deflate\r\n', deflateRawSync(profile())],
  ['br', 'content-encoding: br\r\n', brotliCompressSync(profile())],
  ['zstd', 'content-encoding: zstd\r\n', zstdCompressSync(profile())],
  ['gzip in gzip', 'content-encoding: gzip, gzip\r\n', gzipSync(gzipSync(profile()))],
  ['named br, but unpacked', 'content-encoding: br\r\ncontent-length: 9\r\n', profile()],
  ['trailing commas', 'content-length: 1\r\n', profile().replace('}', ',}')],
])('WARC: a body that is %s', async (_, headers, body) => {
  const { said, records } = await importArchives(warc({ headers, body }));
  expect([said, records]).toEqual(['', [expect.objectContaining({ username: 'ada' })]]);
});

test.each<[what: string, archive: string | Buffer, words: string]>([
  [
    'a chunked WARC body',
    warc({ headers: 'transfer-encoding: chunked\r\n', body: chunked(profile().slice(0, 30), '') }),
    'archive:1: record: the body of http://old.example/b/api/username/ada cannot be used: it is cut off after 30 bytes',
  ],
  [
    'a WARC body that is too short',
    warc({ headers: 'content-length: 99\r\n', body: '{"id":1' }),
    'it is cut off after 7 of 99 bytes',
  ],
  [
    'a gzip WARC body',
    warc({ headers: 'content-encoding: gzip\r\n', body: gzipSync(profile()).subarray(0, 60) }),
    'its gzip data is cut off or corrupt',
  ],
  [
    'a WARC body that the crawler cut',
    warc({ body: '{"id":', more: 'WARC-Truncated: length\r\n' }),
    'it is cut off (WARC-Truncated: length)',
  ],
  [
    'a WARC file',
    warc({ body: profile() }).subarray(0, -20),
    'archive:1: record: the archive is cut off in this record, http://old.example/b/api/username/ada',
  ],
  [
    'a HAR body',
    har(harEntry({ body: '{"id":' }, { size: 900 })),
    'archive:10: record: the body of http://old.example/b/api/username/ada cannot be used: it is cut off after 6 of 900 bytes',
  ],
  [
    'a HAR body that was not recorded',
    har(harEntry({}, { size: 900, text: undefined })),
    'the file does not hold it',
  ],
  ['a HAR file', har(harEntry({ body: profile() })).slice(0, 200), 'this record is not closed'],
  ['a web page', har(harEntry({ body: '<html>' })), 'a web page instead of JSON'],
  [
    'another user',
    warc({ url: `${SITE}/api/username/bob`, body: profile() }),
    "is not the user's who was asked for",
  ],
  ['a list of something else', warc({ url: `${ADA}/shots`, body: '{}' }), 'it has no list of items'],
  [
    'items of another user',
    warc({ body: profile() }, { url: `${ADA}/shots`, body: JSON.stringify({ Shots: [shot(9, 2)] }) }),
    'belongs to another user than 1',
  ],
])('names %s', async (_, archive, words) => {
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
        more: 'WARC-Payload-Digest: sha1:A\r\n',
      },
      { date: '2022-01-01T00:00:00Z', status: 404, body: 'gone' },
      { url: items, date: '2020-01-01T00:00:00Z', body: list(5, 6) },
      { url: 'http://old.example/style.css', body: 'p {}' },
      { url: 'http://old.example/a/api/?post=true&user=ada', body: JSON.stringify({ posts: [] }) },
    ),
    har(
      harEntry({ url: items, date: '2023-01-01T00:00:00.000+02:00', body: list(6, 7) }),
      harEntry({ url: items, date: '2024-01-01T00:00:00.000Z', body: list(8).slice(0, 30) }, { size: 500 }),
    ),
  );
  expect(records.map(({ id, name }) => name ?? id)).toEqual(['6', '7', 'second']);
  expect(said).toBe(
    'warning: bodies that cannot be used, in whose place are others of the same address: 1. The first is archive:1: http://old.example/b/api/username/ada/shots: it is cut off after 30 of 500 bytes\n',
  );
});

test('a revisit has the body of an earlier capture', async () => {
  const first = {
    date: '2020-01-01T00:00:00Z',
    body: profile({ name: 'first' }),
    more: 'WARC-Payload-Digest: sha1:A\r\n',
  };
  const second = {
    date: '2021-01-01T00:00:00Z',
    body: profile({ name: 'second' }),
    more: 'WARC-Payload-Digest: sha1:B\r\n',
  };
  const third = { ...first, date: '2022-01-01T00:00:00Z', body: '', type: 'revisit' };
  expect((await importArchives(gzipSync(warc(third, second, first)))).records).toMatchObject([
    { name: 'first' },
  ]);
  expect((await importArchives(warc(third))).said).toContain('it is in none of the files');
});

test('addresses are resolved, HAR bodies may be base64, and entries that are too long are counted', async () => {
  const { said, records } = await importArchives(
    har(
      harEntry({ url: 'http://old.example/film', body: 'x'.repeat(9_000_000) }),
      harEntry(
        {},
        { encoding: 'base64', text: Buffer.from(profile({ avatar: 'img/a.png' })).toString('base64') },
      ),
    ),
  );
  expect(records).toEqual([expect.objectContaining({ avatar: `${SITE}/img/a.png` })]);
  const warning = 'warning: entries of archives that were passed over: 1. The first is archive';
  expect(said).toBe(`${warning}:1: too long to be read\n`);
  const films = { url: 'http://old.example/film', body: Buffer.alloc(9_000_000) };
  const answer = await importArchives(
    warc(films, { body: profile().padEnd(9_000_000) }, { body: profile() }),
  );
  expect([answer.said, answer.records.length]).toEqual([`${warning}:2: too long to be read\n`, 1]);
});

test.each(['0.5', '1e3', '-1', 'Infinity', '9007199254740993'])(
  'names a WARC record whose length is %s',
  async (length) => {
    const archive = String(warc({ body: profile() })).replace(
      /Content-Length: \d+/,
      `Content-Length: ${length}`,
    );
    expect((await importArchives(archive)).said).toContain('record 1 of the archive is malformed');
  },
);

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
  for (const archive of [har(), warc({ url: SITE, body: '{}' })])
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
    const archives = {
      open() {},
      skip() {},
      add: ({ url, flaw }: { url: string; flaw?: string | undefined }) => void urls.push(url + (flaw ?? '')),
    };
    for await (const batch of readRecords(pieces(), { archives })) expect(batch).toEqual([]);
    expect(new Set(urls)).toEqual(new Set([ADA]));
  }
});
