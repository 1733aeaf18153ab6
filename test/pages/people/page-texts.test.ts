// Texts of people on pages: the language of their script, their links, and how long ones are folded.
import { expect, test } from 'vitest';
import { findLanguage } from '../../../src/pages/languages/language.ts';
import { openable } from '../../../src/pages/people/person-items.ts';
import { linked, written } from '../../../src/pages/people/text.ts';

const address = (name: string) => `../${encodeURIComponent(name)}`;

test.each([
  ['שלום עולם', 'he'],
  ['活版印刷と季節の便り', 'ja'],
  ['ひらがな', 'ja'],
  ['안녕하세요', 'ko'],
  ['พลอย ศรีสุข', 'th'],
  ['Ο φάρος ξανά', 'el'],
  ['خطاطة ومصممة حروف', 'ar'],
  ['Poster für 안녕하세요 안녕하세요', 'ko'],
  // Scripts of more than one language, and letters that Arabic does not have.
  ['活字', undefined],
  ['Сегодня', undefined],
  ['नमस्ते', undefined],
  ['گل‌های بهار', undefined],
  ['خوبصورت ٹرین', undefined],
  ['Smörgåsbord', undefined],
  ['A short note on 本', undefined],
  ['', undefined],
])('%j is in the language %j', (text, language) => {
  expect(written(text).text).toBe(` dir="auto"${language === undefined ? '' : ` lang="${language}"`}`);
});

test.each([
  ['see https://e.example/?a=1&b=2.', 'see [https://e.example/?a=1&amp;b=2|e.example].'],
  ['(https://e.example/x)', '([https://e.example/x|e.example/x])'],
  ['https://e.example/x/, HTTP', '[https://e.example/x/|e.example/x], HTTP'],
  ['http://[', 'http://['],
  ['javascript:alert(1) //e.example', 'javascript:alert(1) //e.example'],
  ['https://e.example/"><b>', '[https://e.example/|e.example]&quot;&gt;&lt;b&gt;'],
  ['@ada and @b.c-d_e.', '[../ada|@ada] and [../b.c-d_e|@b.c-d_e].'],
  ['@مريم @朝', '[../%D9%85%D8%B1%D9%8A%D9%85|@مريم] [../%E6%9C%9D|@朝]'],
  // Addresses of mail, and users of other sites.
  ['ada@e.example @ada@e.example /@ada @', 'ada@e.example @ada@e.example /@ada @'],
])('links of %j', (text, shown) => {
  const html = linked(text, address).text;
  const links = /<a href="([^"]*)" rel="nofollow">(?:<bdi>)?([^<]*)(?:<\/bdi>)?<\/a>/g;
  expect(html.replace(links, '[$1|$2]')).toBe(shown);
});

test('a text has at most fifty links, and names only where their address is known', () => {
  expect(linked('https://e.example/ '.repeat(80)).text.match(/<a /g)).toHaveLength(50);
  expect(linked('@ada').text).toBe('@ada');
});

test.each([
  ['bio', 500, 8],
  ['post-text', 700, 12],
] as const)('a text of the kind %s is folded behind %i characters or %i lines', (kind, letters, lines) => {
  const isFolded = (text: string) =>
    openable(text, { kind, of: 'Ada', language: findLanguage({ siteLanguage: 'en' }) }).text.includes(
      '<details class="more">',
    );
  expect([letters, letters + 1].map((length) => isFolded('x'.repeat(length)))).toEqual([false, true]);
  expect([lines, lines + 1].map((count) => isFolded(Array(count).fill('x').join('\n')))).toEqual([
    false,
    true,
  ]);
});
