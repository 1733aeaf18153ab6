// Every page, feed and card in every language: what is left without the language's own words and the data is no English.
import { describe, expect, test } from 'vitest';
import { siteLanguage } from '../../../src/config/setting-values.ts';
import { findLanguage } from '../../../src/pages/languages/language.ts';
import { databaseOf } from '../../support/database.ts';
import { ask } from '../../support/http.ts';
import { blog, folio, post, shot } from '../../support/records.ts';
import { done } from '../../support/run.ts';
import { serveHere } from '../../support/serve-here.ts';
import type { LocalServer } from '../../support/server.ts';

const DATE = '2026-03-07 10:00:00';
const MEDIA = {
  photo: 'https://p.example/1',
  video_url: 'https://v.example/1',
  url_audio: 'https://s.example/1',
};
const LINKS = { url_purchased: 'https://p.example/2', attachment: 'https://p.example/3' };
const PERSON = {
  country: 'de',
  website: 'https://w.example',
  verified: '1',
  totalFollowers: '1234567',
  bio: '--',
};

const RECORDS = [
  blog(1, 'xx', { ...PERSON, totalFavs: '5', totalFollowing: '7' }),
  post(1, 1, { ...MEDIA, post_details: `--\n${'-- '.repeat(400)}`, date: DATE }),
  post(2, 1, { date: '0000-00-00 00:00:00', photo: MEDIA.photo }),
  blog(2, 'zz'),
  folio(1, 'xx', { ...PERSON, skills: '--', Likes: '5', cover_image: MEDIA.photo }),
  ...Array.from({ length: 40 }, (_, nth) => shot(nth + 1, 1, { ...LINKS, date: DATE, price_item: '0' })),
  folio(2, 'zz'),
  folio(3, 'yy'),
];

const PAGES = [
  ...['/people/b/xx', '/people/b/xx?before=20', '/people/b/xx/40', '/people/b/xx/follow', '/people/b/zz'],
  ...['/people/a/xx', '/people/a/xx/1', '/people/a/xx/2', '/people/a/xx/follow', '/people/a/zz'],
  ...['/people/b', '/people/b?after=zz', '/people/b?q=x', '/people/b?q=--', '/people/a?q=q'],
  ...['/people/b/nobody', '/people/b/xx/99', '/people/b/yy', '/nothing'],
  ...['/feeds/b/xx.atom', '/feeds/a/xx.atom', '/card/b/xx.svg', '/card/a/xx.svg'],
];

/** Names of things, and what is no text of ours. */
const NAMES = ['Feedly', 'Inoreader', 'Vitrine', 'JSON Feed', 'Atom', 'API', 'nobody', 'example'];

describe.each(siteLanguage.words)('in the language %s', (code) => {
  test('pages have its words and no others', async () => {
    const url = await databaseOf(...RECORDS);
    await done(['takedown', '--database-url', url, '--family', 'portfolio', 'yy']);
    const server = await serveHere({
      DATABASE_URL: url,
      DIRECTORY: 'on',
      SITE_LANGUAGE: code,
      TAKEDOWN_STATUS: '410',
    });
    const language = findLanguage({ siteLanguage: code });
    const own = [
      language.date('2026-03-07T10:00:00Z') ?? '',
      language.region('DE'),
      language.compact(1234567n),
    ];
    const known = [...leaves(language.words).flatMap((text) => text.split(/\{\w+\}/)), ...own, ...NAMES]
      .filter((text) => /\p{L}/u.test(text))
      .toSorted((one, two) => two.length - one.length);
    const left: [page: string, words: string[]][] = [];
    for (const page of PAGES) {
      const text = await readTexts(server, page);
      const rest = known.reduce((shown, words) => shown.replaceAll(words.trim(), ' '), text);
      const words = rest.match(/\p{L}{3,}/gu) ?? [];
      if (words.length > 0) left.push([page, words]);
    }
    expect(left).toEqual([]);
  });

  test('html and feeds name it, and its direction', async () => {
    const server = await serveHere({ SITE_LANGUAGE: code, DIRECTORY: 'on' });
    const direction = code === 'ar' ? 'rtl' : 'ltr';
    expect((await ask(server, '/people/b')).body).toContain(`<html lang="${code}" dir="${direction}">`);
    expect((await ask(server, '/feeds/b/ada.atom')).body).toContain(`xml:lang="${code}"`);
    expect(JSON.parse((await ask(server, '/feeds/b/ada.json')).body).language).toBe(code);
  });
});

test.each([
  ['en', '1,234', 'March 7, 2026', 'Germany'],
  ['de', '1.234', '7. März 2026', 'Deutschland'],
  ['fr', '1 234', '7 mars 2026', 'Allemagne'],
  ['ja', '1,234', '2026年3月7日', 'ドイツ'],
] as const)('%s writes numbers, dates and countries as its readers do', (code, number, date, country) => {
  const language = findLanguage({ siteLanguage: code });
  const written = [language.number(1234), language.date('2026-03-07T10:00:00Z'), language.region('DE')];
  expect(written.map((text) => text?.replace(/\u202f/g, ' '))).toEqual([number, date, country]);
});

test.each([
  ['en', 'محمد فاروق', 'ltr'],
  ['ar', 'Ada Lindqvist', 'rtl'],
] as const)('in %s, the page behind Follow of %s is read as its words are', async (code, name, direction) => {
  const url = await databaseOf(blog(1, 'xx', { name, bio: name }));
  const server = await serveHere({ DATABASE_URL: url, SITE_LANGUAGE: code });
  const { body } = await ask(server, '/people/a/xx/follow');
  expect(body).toContain(`<main id="main" dir="${direction}"`);
  const heading = /<h1>(.*)<\/h1>/.exec(body)?.[1] ?? '';
  expect(heading).toMatch(new RegExp(`<bdi(?: lang="ar")?>${name}</bdi>`));
  expect(heading.replace(/<[^>]*>/g, '')).toContain(name);
});

test('plurals have the forms of the language', () => {
  const forms = (code: 'pl' | 'ar' | 'ja', count: number) => {
    const language = findLanguage({ siteLanguage: code });
    return language.plural(language.words.peopleByName, count);
  };
  expect(new Set([1, 2, 5].map((count) => forms('pl', count))).size).toBe(3);
  expect(new Set([1, 2, 3, 11].map((count) => forms('ar', count))).size).toBe(4);
  expect(new Set([1, 2, 5].map((count) => forms('ja', count))).size).toBe(1);
});

const leaves = (value: unknown): string[] =>
  typeof value === 'string' ? [value] : Object.values(value as object).flatMap(leaves);

/** What a person reads or hears: text, and the attributes that are read out or shown. */
async function readTexts(server: LocalServer, path: string): Promise<string> {
  const { body } = await ask(server, path, { headers: { accept: 'text/html' } });
  const html = body.replace(/<(script|style)\b[\s\S]*?<\/\1>/g, '').replace(/<code[\s\S]*?<\/code>/g, '');
  const attributes = [...html.matchAll(/ (?:title|alt|aria-label|placeholder)="([^"]*)"/g)].map(
    ([, text]) => text,
  );
  const description = /<meta name="description" content="([^"]*)"/.exec(html)?.[1] ?? '';
  const shown = html
    .replace(/<!\[CDATA\[[\s\S]*?\]\]>/g, '')
    .replace(/<(id|uri|icon|updated|published)>.*?<\/\1>/g, '');
  return [shown.replace(/<[^>]*>/g, ' '), ...attributes, description]
    .join(' ')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replace(/https?:\S+|\w+\.example\S*|\/feeds\/\S+|@\w+/g, ' ');
}
