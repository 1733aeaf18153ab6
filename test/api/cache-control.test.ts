// What a Cache-Control header allows shared caches to do.
import { expect, test } from 'vitest';
import { allowsSharedCaching, allowsStale, sharedAge } from '../../src/api/http/cache-control.ts';
import { readConfig } from '../../src/config/config.ts';

test.each<[header: string, age: number | undefined, isShared: boolean, isStaleAllowed: boolean]>([
  [readConfig({}).cacheControl, 15, true, true],
  ['', undefined, true, true],
  ['public', undefined, true, true],
  ['max-age=0', 0, false, true],
  ['MAX-AGE=0', 0, false, true],
  ['max-age=600, s-maxage=0', 0, false, false],
  ['max-age=0, s-maxage=600', 600, true, false],
  ['max-age=5, s-maxage=600', 600, true, false],
  ['s-maxage=600,max-age=5', 600, true, false],
  ['max-age="60"', 60, true, true],
  ['max-age=soon', 0, false, true],
  ['max-age', 0, false, true],
  ['private, max-age=60', 60, false, true],
  ['Private="set-cookie"', undefined, false, true],
  ['no-cache', undefined, false, false],
  ['no-store', undefined, false, false],
  ['max-age=60, must-revalidate', 60, true, false],
  // Names are whole, and what a value says is no directive.
  ['x-private, max-age=60', 60, true, true],
  ['extension="no-store, max-age=0", max-age=60', 60, true, true],
])('%s', (header, age, isShared, isStaleAllowed) => {
  expect([sharedAge(header), allowsSharedCaching(header), allowsStale(header)]).toEqual([
    age,
    isShared,
    isStaleAllowed,
  ]);
});
