// Imports of many tiny records fit into a small heap, and need no log of their own size.
import { appendFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writePeople } from '../bench/data.ts';
import { tempFile, tempFolder } from '../files.ts';
import { newPath, tally } from '../importing.ts';
import { post } from '../records.ts';
import { spawned } from '../rig.ts';

const importing = (...args: string[]) =>
  spawned(['import', '--database-url', newPath(), ...args], {
    env: { NODE_OPTIONS: '--max-old-space-size=32' },
  });

/** A file with a line for each number, written in parts. */
function fileOfLines(head: string, lines: number, line: (number: number) => string): string {
  const path = tempFile('many', head);
  const part = 5_000;
  for (let from = 0; from < lines; from += part)
    appendFileSync(path, Array.from({ length: part }, (_, index) => line(from + index + 1)).join(''));
  return path;
}

test.each<[what: string, lines: number, line: (number: number) => string]>([
  ['200,000 items without an owner', 200_000, (id) => `${JSON.stringify(post(id, id))}\n`],
  ['250,000 empty objects', 250_000, () => '{}\n'],
  ['150,000 empty objects in a body on one line', 150_000, (id) => (id === 1 ? '{"posts":[{}' : ',{}')],
])('%s, skipped and kept as rejects', async (_, lines, line) => {
  const file = fileOfLines('\n', lines, line);
  if (line(2) === ',{}') appendFileSync(file, ']}\n');
  const rejects = join(tempFolder(), 'rejects.ndjson');
  const { code, stdout } = await importing('--skip-invalid', '--rejects', rejects, file);
  expect([code, stdout.trimEnd().split('\n').at(-1)]).toEqual([0, `${lines} left out`]);
  expect(statSync(rejects).size).toBeGreaterThanOrEqual(lines * 3);
});

const MAP = `export const lists = ['item'];
export default ({ n }) => ({ id: n, user: 1, date: '2026-02-28T10:00:00Z', post_details: 'x'.repeat(20) });
export const end = () => ({ totalPost: 0, id: 1, username: 'ada' });
`;

test.each<[what: string, head: string, line: (number: number) => string, foot: string]>([
  ['a list in a JSON object', '{"type":"x","item":[{"n":1}', (id) => `,{"n":${id + 1}}`, '],"more":1}'],
  ['XML', '<a>', (id) => `<item><n>${id}</n></item>\n`, '</a>'],
])('a map of 100,000 objects in %s', async (_, head, line, foot) => {
  const file = fileOfLines(head, 100_000, line);
  appendFileSync(file, foot);
  const map = tempFile('map.mjs', MAP);
  const { code, stdout } = await importing('--map', map, file);
  expect([code, tally(stdout, 'posts')?.[0]]).toEqual([0, line(1).startsWith(',') ? 100_001 : 100_000]);
});

test('nothing grows beside the file of a first import', async () => {
  const source = join(tempFolder(), 'people.ndjson');
  await writePeople(source, 6000, 15);
  const database = newPath();
  const sizeOf = (suffix: string) => statSync(database + suffix, { throwIfNoEntry: false })?.size ?? 0;
  let beside = 0;
  const sampling = setInterval(() => {
    beside = Math.max(beside, sizeOf('-wal') + sizeOf('-journal'));
  }, 10);
  const { code } = await spawned(['import', '--quiet', '--database-url', database, source]);
  clearInterval(sampling);
  expect(code).toBe(0);
  expect(beside).toBeLessThan(0.1 * sizeOf(''));
});
