// Accept-Encoding as RFC 9110 says, and packed texts. The answers themselves are in routes.test.ts.
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { acceptsGzip } from '../src/http/answer.ts';
import { createGzip, pack } from '../src/stores/packing.ts';

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
