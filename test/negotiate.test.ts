// Accept-Encoding as RFC 9110 says, and the ETags of both forms of a body.
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readConfig } from '../src/config/config.ts';
import { acceptsGzip } from '../src/http/answer.ts';
import { buildApp } from '../src/server/app.ts';
import { openForServing } from '../src/stores/open.ts';
import { createGzip, pack } from '../src/stores/packing.ts';
import { createLog } from '../src/telemetry/log.ts';
import { createTelemetry } from '../src/telemetry/telemetry.ts';
import { folio, shot } from './records.ts';
import { importInto, ndjson, tempFolder } from './rig.ts';

test.each([
  [undefined, false],
  ['', false],
  ['gzip', true],
  ['GZIP', true],
  ['x-gzip', true],
  ['gzip, deflate, br, zstd', true],
  ['br', false],
  ['*', true],
  ['*;q=0', false],
  ['gzip;q=0', false],
  ['gzip;q=0, *', false],
  ['*;q=0, gzip', true],
  ['gzip; q=0.001', true],
  ['gzip;q=0.5, identity', false],
  ['gzip;q=0.5, identity;q=0.5', true],
  ['identity;q=0', true],
  ['identity;q=0, br', true],
  ['identity;q=0, gzip;q=0', false],
  ['gzip;q=2', false],
  ['gzip;q=x', false],
  ['gzipped', false],
])('%j', (header, accepts) => {
  expect(acceptsGzip(header)).toBe(accepts);
});

test('a packed text is a gzip body by itself and between two others, whatever their lengths', () => {
  for (const length of [0, 1, 1023, 7000, 300_000]) {
    const text = 'aé"\u{1f600}'.repeat(length).slice(0, length);
    const packed = pack(text);
    for (const [before, after] of [
      ['', ''],
      ['{"Shots":', '}'],
      ['{"ä":', ''],
    ] as const)
      expect(gunzipSync(createGzip(before, after)(packed)).equals(Buffer.from(before + text + after))).toBe(
        true,
      );
  }
});

test('lookups are compressed where the client asks; ETags differ, and either is 304', async () => {
  const config = readConfig({ logLevel: 'silent' });
  const bio = 'a long text, '.repeat(100);
  const path = join(tempFolder(), 'site.db');
  await importInto(
    path,
    ['-'],
    ndjson(folio(1, 'ada', { bio }), shot(1, 1, { description: bio }), folio(2, 'bea')),
  );
  const store = await openForServing(path, () => {});
  const telemetry = createTelemetry(config, createLog(config, { write() {} }));
  const { app } = buildApp({ config, store, telemetry });
  const ask = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
    app.inject({ method, url, headers });
  const gzip = { 'accept-encoding': 'br, gzip' };
  for (const path of ['/b/api/username/ada', '/b/api/username/ada/shots', '/c/api/username/ada/shots']) {
    const [plain, packed] = [await ask(path), await ask(path, gzip)];
    expect([plain.headers['content-encoding'], packed.headers['content-encoding']]).toEqual([
      undefined,
      'gzip',
    ]);
    expect(String(gunzipSync(packed.rawPayload))).toBe(plain.body);
    expect(packed.headers['content-length']).toBe(String(packed.rawPayload.length));
    expect([plain.headers.vary, packed.headers.vary]).toEqual(['Accept-Encoding', 'Accept-Encoding']);
    expect(packed.headers.etag).toBe(String(plain.headers.etag).replace(/"$/, '-gzip"'));
    for (const known of [plain.headers.etag, packed.headers.etag, `W/${packed.headers.etag}`])
      for (const [headers, { etag }] of [
        [{}, plain.headers],
        [gzip, packed.headers],
      ] as const) {
        const reply = await ask(path, { ...headers, 'if-none-match': String(known) });
        expect([reply.statusCode, reply.headers.etag, reply.headers.vary]).toEqual([
          304,
          etag,
          'Accept-Encoding',
        ]);
      }
    const head = await ask(path, gzip, 'HEAD');
    expect([head.headers['content-length'], head.rawPayload.length]).toEqual([
      packed.headers['content-length'],
      0,
    ]);
  }
  for (const path of ['/b/api/username/bea', '/b/api/username/nobody'])
    expect((await ask(path, gzip)).headers['content-encoding']).toBeUndefined();
  await app.close();
  await store.close();
});
