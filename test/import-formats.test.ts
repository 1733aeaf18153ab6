// Every format that can be imported, and the records that it gives.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { expectedRecord, type Kind, type Raw } from './expected.ts';
import { into, newPath, recordsIn, tally } from './importing.ts';
import { kindOf } from './records.ts';
import { readRecords, tempFile, ugly } from './rig.ts';

/** A saved body without the commas that strict JSON forbids; none of these texts breaks a line. */
const body = (name: string) => JSON.parse(readFileSync(ugly(name), 'utf8').replace(/,(\n\s*[}\]])/g, '$1'));
const URL = (name: string) => `https://vitrine.example/samples/${name}`;
const CSV: [Kind, Raw][] = [
  [
    'microblog profile',
    {
      totalFollowers: 15,
      totalFollowing: 4,
      totalPost: 3,
      id: 9501,
      username: 'table',
      name: 'Tabitha "Tab" Ellis',
      location: 'Cardiff; Wales',
      country: 'gb',
      website: 'https://table.example/?a=1;b=2',
      bio: 'First line,\nsecond line;\r\nthird, "quoted" line.',
      verified: 1,
    },
  ],
  ['microblog profile', { id: 9502, username: 'Größe; Maß', name: 'Jürgen Groß', location: 'Köln' }],
  [
    'microblog profile',
    {
      totalFollowers: 3,
      id: 9503,
      username: '表',
      name: '  spaces kept  ',
      location: '東京',
      bio: '一行目\n二行目',
    },
  ],
  [
    'portfolio profile',
    {
      totalShots: 3,
      id: 9501,
      username: 'table',
      name: 'Tabitha "Tab" Ellis',
      bio: 'One\n\nTwo',
      skills: 'weaving,wood',
      type_account: 1,
    },
  ],
  [
    'post',
    {
      id: 9601,
      token_id: '2f22765d04931a078909145ca628d2264c852d7d',
      post_details: 'One line, one comma',
      user: 9501,
      status: 1,
      date: '2025-06-01 09:00:00',
    },
  ],
  [
    'post',
    {
      id: 9602,
      token_id: '6b1f53303a732ccc8c6aae6640399827c15250e3',
      post_details: 'Two lines,\nand a "quotation"',
      photo: URL('photo-9602.svg'),
      user: 9501,
      status: 1,
      date: '2025-06-02 09:00:00',
    },
  ],
  ['post', { id: 9603, post_details: '=1+1; 你好, мир 🙂', user: 9501, date: '2025-06-03 09:00:00' }],
  [
    'shot',
    {
      id: 9701,
      id_project: 2,
      created_project: '2025-05-01 00:00:00',
      image: URL('shot-9701.svg'),
      token_id: 'a625406f6977d45c1391b078f4d3656e0b75bfcb',
      description: 'Warp and weft,\r\nin that order.',
      title: 'Cloth "no. 1"',
      user_id: 9501,
      status: 1,
      tags: 'cloth,loom,blue',
      date: '2025-06-01 09:00:00',
      price_item: '1,250.00',
    },
  ],
  [
    'shot',
    {
      id: 9702,
      image: URL('shot-9702.svg'),
      title: 'Loom',
      user_id: 9501,
      status: 1,
      date: '2025-06-02 09:00:00',
    },
  ],
  [
    'shot',
    {
      id: 9703,
      image: URL('shot-9703.svg'),
      token_id: 'e4666a670f042877c67a84473a71675ee0950a08',
      description: 'خيوط زرقاء',
      title: 'خيط',
      user_id: 9501,
      status: 1,
      tags: 'خيط,أزرق',
      date: '2025-06-03 09:00:00',
      attachment: 'https://files.example/table/9703.pdf',
    },
  ],
];
const SAVED: [Kind, Raw][] = [
  ['microblog profile', body('profile-a.json')],
  ['portfolio profile', body('profile-b.json')],
  ...body('response-a.json').posts.map((raw: Raw) => ['post', raw]),
  ...body('response-b.json').Shots.map((raw: Raw) => ['shot', raw]),
  ...body('response-c.json').Posts.map((raw: Raw) => ['shot', raw]),
];
const CSV_FILES = ['posts.csv', 'shots.csv', 'profiles.csv', 'portfolio-profiles.csv'].map(ugly);
const SAVED_FILES = [
  'response-a.json',
  'response-b.json',
  'response-c.json',
  'profile-a.json',
  'profile-b.json',
].map(ugly);
const TIES = readRecords(ugly('date-ties.ndjson'));
const TIED = TIES.map((raw): [Kind, Raw] => [kindOf(raw), raw]);

const gz = (path: string) => tempFile('packed', gzipSync(readFileSync(path)));
const FORMATS: [what: string, files: string[], input: Buffer | string, expected: [Kind, Raw][]][] = [
  ['CSV, with the items before their owners', CSV_FILES, '', CSV],
  ['CSV, compressed', CSV_FILES.map(gz), '', CSV],
  ['saved response bodies', SAVED_FILES, '', SAVED],
  ['NDJSON', [ugly('date-ties.ndjson')], '', TIED],
  ['NDJSON from standard input, compressed', ['-'], gzipSync(readFileSync(ugly('date-ties.ndjson'))), TIED],
  [
    'NDJSON with a byte order mark, CRLF and blank lines',
    ['-'],
    `\ufeff\r\n${TIES.map((raw) => JSON.stringify(raw)).join('\r\n\r\n')}`,
    TIED,
  ],
  ['a JSON array', ['-'], JSON.stringify(TIES, null, 2), TIED],
  [
    'one of each, and standard input between them',
    [...CSV_FILES, '-', ...SAVED_FILES.map(gz)],
    readFileSync(ugly('date-ties.ndjson')),
    [...CSV, ...TIED, ...SAVED],
  ],
];

test.concurrent.each(FORMATS)('%s', async (_, files, input, expected) => {
  const path = newPath();
  const { code, stdout, stderr } = await into(path, files, { input });
  expect([code, stderr]).toEqual([0, '']);
  expect(await recordsIn(path)).toEqual(
    expected.map(([kind, raw]) => JSON.stringify(expectedRecord(kind, raw))).sort(),
  );
  for (const [kind, plural] of [
    ['microblog profile', 'microblog profiles'],
    ['post', 'posts'],
    ['portfolio profile', 'portfolio profiles'],
    ['shot', 'shots'],
  ]) {
    const count = expected.filter(([of]) => of === kind).length;
    expect(tally(stdout, plural as string)).toEqual(count === 0 ? undefined : [count, 0, 0, 0]);
  }
});
