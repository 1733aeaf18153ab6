// Every format that can be imported, and the records that it gives.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { expectedRecord, type Kind, type Raw } from './expected.ts';
import { into, newPath, recordsIn, tally } from './importing.ts';
import { findKind } from './records.ts';
import { readRecords, tempFile, ugly } from './rig.ts';

/** A saved body without the commas that strict JSON forbids; none of these texts breaks a line. */
const body = (name: string) => JSON.parse(readFileSync(ugly(name), 'utf8').replace(/,(\n\s*[}\]])/g, '$1'));
const gz = (path: string) => tempFile('packed', gzipSync(readFileSync(path)));

const CSV_FILES = ['posts.csv', 'shots.csv', 'profiles.csv', 'portfolio-profiles.csv'].map(ugly);
/** Of each table, a record whose cells hold delimiters, quotation marks, line breaks or other scripts. */
const FROM_CSV: Record<Kind, Raw> = {
  'microblog profile': {
    ...{ totalFollowers: 15, totalFollowing: 4, totalPost: 3, id: 9501, username: 'table', verified: 1 },
    ...{ name: 'Tabitha "Tab" Ellis', location: 'Cardiff; Wales', country: 'gb' },
    ...{ website: 'https://table.example/?a=1;b=2' },
    ...{ bio: 'First line,\nsecond line;\r\nthird, "quoted" line.' },
  },
  'portfolio profile': {
    ...{ totalShots: 3, id: 9501, username: 'table', name: 'Tabitha "Tab" Ellis', bio: 'One\n\nTwo' },
    ...{ skills: 'weaving,wood', type_account: 1 },
  },
  post: { id: 9603, post_details: '=1+1; 你好, мир 🙂', user: 9501, date: '2025-06-03 09:00:00' },
  shot: {
    ...{ id: 9701, id_project: 2, created_project: '2025-05-01 00:00:00', title: 'Cloth "no. 1"' },
    ...{ image: 'https://vitrine.example/samples/shot-9701.svg', user_id: 9501, status: 1 },
    ...{ token_id: 'a625406f6977d45c1391b078f4d3656e0b75bfcb', price_item: '1,250.00' },
    ...{ description: 'Warp and weft,\r\nin that order.', tags: 'cloth,loom,blue' },
    date: '2025-06-01 09:00:00',
  },
};
const CSV_TALLIES = { 'microblog profiles': 3, 'portfolio profiles': 1, posts: 3, shots: 3 };

test.each([
  ['CSV, with the items before their owners', CSV_FILES],
  ['CSV, compressed', CSV_FILES.map(gz)],
])('%s', async (_, files) => {
  const path = newPath();
  const { code, stdout, stderr } = await into(path, files);
  expect([code, stderr]).toEqual([0, '']);
  const lines = Object.entries(FROM_CSV).map(([kind, raw]) =>
    JSON.stringify(expectedRecord(kind as Kind, raw)),
  );
  expect(await recordsIn(path)).toEqual(expect.arrayContaining(lines));
  for (const [plural, count] of Object.entries(CSV_TALLIES))
    expect(tally(stdout, plural)).toEqual([count, 0, 0, 0]);
});

const SAVED_FILES = ['response-a', 'response-b', 'response-c', 'profile-a', 'profile-b'].map((name) =>
  ugly(`${name}.json`),
);
const SAVED: [Kind, Raw][] = [
  ['microblog profile', body('profile-a.json')],
  ['portfolio profile', body('profile-b.json')],
  ...body('response-a.json').posts.map((raw: Raw) => ['post', raw]),
  ...body('response-b.json').Shots.map((raw: Raw) => ['shot', raw]),
  ...body('response-c.json').Posts.map((raw: Raw) => ['shot', raw]),
];
const TIES_FILE = ugly('date-ties.ndjson');
const TIES = readRecords(TIES_FILE);
const TIED = TIES.map((raw): [Kind, Raw] => [findKind(raw), raw]);
const SPACED = `\ufeff\r\n${TIES.map((raw) => JSON.stringify(raw)).join('\r\n\r\n')}`;

test.each<[what: string, files: string[], input: Buffer | string, expected: [Kind, Raw][]]>([
  ['saved response bodies', SAVED_FILES, '', SAVED],
  ['NDJSON', [TIES_FILE], '', TIED],
  [
    'CSV whose header tells the kind',
    ['-'],
    'id,username,skills\n1,ada,\n',
    [['portfolio profile', { id: 1, username: 'ada' }]],
  ],
  ['NDJSON from standard input, compressed', ['-'], gzipSync(readFileSync(TIES_FILE)), TIED],
  ['NDJSON with a byte order mark, CRLF and blank lines', ['-'], SPACED, TIED],
  ['a JSON array', ['-'], JSON.stringify(TIES, null, 2), TIED],
  ['files, and standard input', ['-', ...SAVED_FILES.map(gz)], readFileSync(TIES_FILE), [...TIED, ...SAVED]],
])('%s', async (_, files, input, expected) => {
  const path = newPath();
  expect(await into(path, files, { input })).toMatchObject({ code: 0, stderr: '' });
  expect(await recordsIn(path)).toEqual(
    expected.map(([kind, raw]) => JSON.stringify(expectedRecord(kind, raw))).sort(),
  );
});
