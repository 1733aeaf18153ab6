// The functions that a map is given.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { kit } from '../../../src/import/map-kit.ts';
import { ROOT } from '../../support/files.ts';
import { done } from '../../support/run.ts';

describe('kit.id', () => {
  test('gives the same number for a text in every process and version', () => {
    expect(kit.id('https://social.example/users/ada')).toBe('469926618045406072');
    expect(kit.id('6f1c1f9e-6d0c-4c55-9d0e-6f4a6f0f7f11')).toBe('5765570597864727280');
    expect(kit.id(7)).toBe(kit.id('7'));
  });

  test('gives ids that records may have, and different ones', () => {
    const ids = Array.from({ length: 1000 }, (_, number) => kit.id(`user ${number}`));
    expect(new Set(ids).size).toBe(1000);
    for (const id of ids) {
      expect(id).toMatch(/^[1-9]\d*$/);
      expect(BigInt(id)).toBeLessThan(2n ** 63n);
    }
  });

  test.each([undefined, null, ''])('throws on %j', (nothing) => {
    expect(() => kit.id(nothing)).toThrow('kit.id was given no text');
  });
});

describe('kit.text', () => {
  test.each([
    ['<p>One</p><p>Two<br>three</p>', 'One\n\nTwo\nthree'],
    ['plain  text\n on two lines', 'plain text on two lines'],
    ['Tom &amp; Jerry &#8211; 100&nbsp;% &hellip; &eacute;', 'Tom & Jerry – 100 % … é'],
    ['<a href="https://x.example">li<span class="invisible">nk</span></a>', 'link'],
    ['<ul><li>a</li><li>b</li></ul>end', 'a\n\nb\n\nend'],
    ['a<script>alert("<p>")</script><style>p{}</style>b', 'ab'],
    ['<!-- wp:paragraph --><p>Block</p><!-- /wp:paragraph -->', 'Block'],
    ['1 < 2 and <b>bold', '1 < 2 and bold'],
    ['', ''],
    [undefined, ''],
    [null, ''],
    [7, '7'],
  ])('%j is %j', (html, text) => {
    expect(kit.text(html)).toBe(text);
  });
});

describe('kit.date', () => {
  test.each([
    ['2026-02-28T10:00:00+02:00', '2026-02-28 08:00:00'],
    ['2026-02-28T10:00:00.5Z', '2026-02-28 10:00:00'],
    ['2026-02-28 10:00:00', '2026-02-28 10:00:00'],
    ['2026-02-28', '2026-02-28 00:00:00'],
    ['Sat, 28 Feb 2026 10:00:00 +0200', '2026-02-28 08:00:00'],
    ['1 Mar 2026 10:00 GMT', '2026-03-01 10:00:00'],
    ['Sun,  1 Mar 2026 10:00:00 Z', '2026-03-01 10:00:00'],
    ['Sun, 1 Mar 2026 11:00:00 +0100 (CET)', '2026-03-01 10:00:00'],
    ['Sat Feb 28 10:00:00 +0000 2026', '2026-02-28 10:00:00'],
    [1772272800, '2026-02-28 10:00:00'],
    [1772272800.75, '2026-02-28 10:00:00'],
    [1772272800123, '2026-02-28 10:00:00'],
    [-1, '1969-12-31 23:59:59'],
    [new Date(0), '1970-01-01 00:00:00'],
    ['', undefined],
    [undefined, undefined],
    [null, undefined],
  ])('%j is %j', (given, date) => {
    expect(kit.date(given)).toBe(date);
  });

  test.each([
    'yesterday',
    '2026-02-30',
    '2026-02-30T10:00:00Z',
    'Mon, 30 Feb 2026 10:00:00 GMT',
    'Mon Feb 30 10:00:00 +0000 2026',
    1e17,
    Number.NaN,
    new Date('x'),
    {},
  ])('throws on %j', (given) => {
    expect(() => kit.date(given)).toThrow('not a date: "');
  });
});

describe('kit.url', () => {
  test.each([
    ['a b.jpg', 'https://x.example/media/', 'https://x.example/media/a%20b.jpg'],
    ['/a.jpg', 'https://x.example/media/', 'https://x.example/a.jpg'],
    ['https://y.example/ä', 'https://x.example/', 'https://y.example/%C3%A4'],
    ['https://y.example', undefined, 'https://y.example/'],
    ['www.y.example', undefined, 'https://www.y.example/'],
    ['', 'https://x.example/', undefined],
    [undefined, 'https://x.example/', undefined],
    [null, 'https://x.example/', undefined],
  ])('%j from %j is %j', (reference, base, url) => {
    expect(kit.url(reference, base)).toBe(url);
  });

  test('throws on what is no URL', () => {
    expect(() => kit.url('a.jpg')).toThrow('not a URL: "a.jpg"');
    expect(() => kit.url('https://')).toThrow('not a URL: "https://"');
  });
});

test('the maps of the package are those that the help names', async () => {
  const names = readdirSync(join(ROOT, 'src/import/maps')).map((file) => file.replace('.mjs', ''));
  const sentence = names.join(', ').replace(/, (\w+)$/, ' or $1');
  expect((await done(['import', '--help'])).replace(/\s+/g, ' ')).toContain(sentence);
});
