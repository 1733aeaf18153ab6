// `vitrine samples`: any number of users, always the same ones, that an import takes and a server shows.
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { generateSamples } from '../../../src/import/samples/generate.ts';
import { AWKWARD } from '../../../src/import/samples/words.ts';
import { drawPicture } from '../../../src/pages/explorer/sample-pictures.ts';
import { MAX_RECORD_BYTES } from '../../../src/records/normalise.ts';
import { tempFile } from '../../support/files.ts';
import { ask } from '../../support/http.ts';
import { into, newPath, recordsIn } from '../../support/importing.ts';
import { done } from '../../support/run.ts';
import { serveHere } from '../../support/serve-here.ts';

const samples = (...args: string[]) => done(['samples', ...args]);
const parse = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
const digest = (text: string) => createHash('sha256').update(text).digest('hex');

test('the same numbers give the same bytes, on every machine; another seed gives others', async () => {
  const text = await samples('--users', '1000', '--seed', '7', '--awkward');
  expect(digest(text)).toBe('ed7c51d6ea7a4b8408b375da8e066df1b7c9983604b0cf3c1bccdb13a6fcb24b');
  expect(await samples('--users', '1000', '--seed', '8', '--awkward')).not.toBe(text);
  expect(text.startsWith(await samples('--users', '10', '--seed', '7', '--awkward'))).toBe(true);
});

test('an import takes every record as it is', async () => {
  const file = tempFile('people.ndjson', await samples('--users', '300', '--awkward'));
  const path = newPath();
  const { code, stderr } = await into(path, [file]);
  expect([code, stderr.replaceAll(/^warning: .*\n/gm, '')]).toEqual([0, '']);
  expect(await recordsIn(path)).toHaveLength(parse(await samples('--users', '300', '--awkward')).length);
});

describe('the users', () => {
  const users = async (...args: string[]) =>
    parse(await samples('--users', '2000', ...args)).filter(({ username }) => username !== undefined);

  test('take turns between the families, or are all of one', async () => {
    const all = await users();
    expect(all.map(({ totalPost }) => totalPost !== undefined).slice(0, 4)).toEqual([
      false,
      true,
      false,
      true,
    ]);
    expect((await users('--family', 'microblog')).every(({ totalPost }) => totalPost !== undefined)).toBe(
      true,
    );
  });

  test('have up to 200 items, or none, and empty and full fields in many scripts', async () => {
    const all = await users('--family', 'portfolio');
    const items = all.map(({ totalShots }) => Number(totalShots));
    expect([Math.min(...items), Math.max(...items) > 100, Math.max(...items) <= 200]).toEqual([
      0,
      true,
      true,
    ]);
    for (const member of ['name', 'bio', 'avatar', 'location', 'website'])
      expect(new Set(all.map((user) => user[member] === '')), member).toEqual(new Set([true, false]));
    for (const script of 'Latin Greek Cyrillic Han Hangul Arabic Hebrew Devanagari Thai'.split(' '))
      expect(
        all.some(({ name }) => new RegExp(`\\p{Script=${script}}`, 'u').test(String(name))),
        script,
      ).toBe(true);
  });

  test('are awkward only if that is asked for, and then in each way', async () => {
    const names = (await users('--awkward')).map(({ name }) => name);
    for (const { name } of AWKWARD) expect(names).toContain(name || undefined);
    expect((await users()).map(({ name }) => name)).not.toContain('<b>Not bold</b>');
  });

  test('that are awkward have the longest names and records, nothing at all, or odd pictures', async () => {
    for (const family of ['microblog', 'portfolio']) {
      const path = newPath();
      await into(path, [tempFile('x', await samples('--users', '100', '--awkward', '--family', family))]);
      const lines = await recordsIn(path);
      const records = lines.map((line) => JSON.parse(line) as Record<string, string>);
      const longest = Math.max(...lines.map((line) => Buffer.byteLength(line)));
      expect([longest > 64_000, longest <= MAX_RECORD_BYTES]).toEqual([true, true]);
      expect(Math.max(...records.map(({ username = '' }) => username.length))).toBe(255);
      expect(records.some(({ username, avatar, bio }) => username && !avatar && !bio)).toBe(true);
      for (const shape of ['1x4000', '9999x9999', '0x0'])
        expect(JSON.stringify(records)).toContain(`-${shape}.svg`);
    }
  });
});

test('memory does not grow with the users: they come in chunks', () => {
  const options = { users: 1_000_000, seed: 1, awkward: false, picturesUrl: 'http://localhost/' };
  let chunks = 0;
  for (const chunk of generateSamples(options)) {
    expect(chunk.length).toBeLessThan(400_000);
    if (++chunks === 5) break;
  }
});

test('`serve FILE` draws the pictures that they name', async () => {
  const server = await serveHere({}, [
    tempFile('people.ndjson', await samples('--users', '1', '--family', 'portfolio')),
  ]);
  const { avatar } = JSON.parse((await ask(server, '/b/api/username/harbour.1')).body);
  const reply = await ask(server, new URL(avatar).pathname);
  expect([reply.status, reply.headers['content-type'], reply.body]).toEqual([
    200,
    'image/svg+xml',
    drawPicture(avatar.split('/').at(-1)),
  ]);
  expect((await ask(server, '/samples/drawn-1-0x5.svg')).status).toBe(404);
});
