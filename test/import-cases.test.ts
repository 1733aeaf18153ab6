// What an import makes of its input: fixtures/import/TOPIC.txt holds cases, TOPIC.out their results (`vitest -u` writes them).
// A case begins with `=== NAME`. `$ ARGS` runs a command, `% ARGS` in a process of its own; without one, the readers of
// formats are tried. `@ NAME` begins a file, `<` standard input, and `⟨0d 0a⟩` stands for bytes.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readRecords } from '../src/formats/detect.ts';
import { type Entry, FormatError } from '../src/formats/entry.ts';
import { ROOT, tempFolder } from './files.ts';
import { recordsIn } from './importing.ts';
import { run, spawned } from './rig.ts';

const FOLDER = join(ROOT, 'fixtures/import');
const topics = readdirSync(FOLDER).filter((name) => name.endsWith('.txt'));

test.each(topics)('%s', async (topic) => {
  const cases = readFileSync(join(FOLDER, topic), 'utf8').split(/^=== /m).slice(1);
  const results: string[] = [];
  for (const one of cases) results.push(`=== ${one.slice(0, one.indexOf('\n'))}\n${await runCase(one)}`);
  await expect(results.join('\n')).toMatchFileSnapshot(join(FOLDER, topic.replace('.txt', '.out')));
});

async function runCase(text: string): Promise<string> {
  const commands = [...text.matchAll(/^([$%?]) (.*)\n/gm)].map(([, how, args = '']) => ({
    how,
    args: args.split(' '),
  }));
  const parts = text
    .replace(/^.*\n/, '')
    .replace(/^[$%?] .*\n/gm, '')
    .split(/^(?=@ .|<$)/m);
  const files = parts.filter((part) => part.startsWith('@ '));
  const input = toBytes((parts.find((part) => !part.startsWith('@ ')) ?? '').replace(/^<\n/, ''));
  const [first] = commands;
  if (first === undefined || first.how === '?') return await readInPieces(input, first?.args ?? []);
  const folder = join(tempFolder(), 'in');
  for (const file of files) {
    const name = file.slice(2, file.indexOf('\n'));
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), toBytes(file.slice(file.indexOf('\n') + 1)));
  }
  const results: string[] = [];
  for (const { how, args } of commands) results.push(await runCommand(how, args, folder, input));
  return results.join('');
}

/** Bytes are written in hexadecimal digits; none of them end a text without a line feed. */
const toBytes = (text: string) =>
  Buffer.concat(
    text
      .replace(/⟨⟩\n/g, '')
      .split(/⟨|⟩/)
      .map((part, index) =>
        Buffer.from(part.replaceAll(index % 2 ? ' ' : '\0', ''), index % 2 ? 'hex' : 'utf8'),
      ),
  );

async function runCommand(how: string | undefined, args: string[], folder: string, input: Buffer) {
  const database = join(dirname(folder), 'site.db');
  mkdirSync(folder, { recursive: true });
  const before = readdirSync(folder);
  const [command = '', ...rest] = args.map((arg) => (arg.startsWith('./') ? join(folder, arg) : arg));
  const start = how === '%' ? spawned : run;
  const { code, stdout, stderr } = await start([command, '--database-url', database, ...rest], { input });
  const records = existsSync(database) ? (await recordsIn(database)).map(withoutDefaults) : ['no database'];
  const written = readdirSync(folder)
    .filter((name) => !before.includes(name))
    .map((name) => `@ ${name}\n${readFileSync(join(folder, name), 'utf8')}`);
  const said = (stderr + stdout).replaceAll(`${folder}/`, '').replaceAll(folder, '.');
  return `exit ${code}\n${said}${written.join('')}${records.map((line) => `${line}\n`).join('')}`;
}

const withoutDefaults = (record: string) =>
  record.replaceAll(/"\w+":"(?:0|0000-00-00 00:00:00)?",?/g, '').replace(/,}$/, '}');

/** In pieces of any size, plain and compressed, a file gives the same. */
async function readInPieces(content: Buffer, args: string[]): Promise<string> {
  const { values } = parseArgs({
    args,
    options: { lists: { type: 'string' }, encoding: { type: 'string' } },
  });
  const options = {
    lists: values.lists?.split(',').filter((name) => name !== '-'),
    encoding: values.encoding,
  };
  const whole = await read(content, content.length + 1, options);
  for (const size of [1, 7]) expect(await read(content, size, options), `pieces of ${size}`).toBe(whole);
  if (content[0] === 0x1f) return whole;
  for (const size of [1, 99_999]) expect(await read(gzipSync(content), size, options)).toBe(whole);
  return whole;
}

async function read(content: Buffer, size: number, options: Parameters<typeof readRecords>[1]) {
  const lines: string[] = [];
  async function* pieces() {
    for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
  }
  try {
    for await (const batch of readRecords(pieces(), options)) lines.push(...batch.map(describeEntry));
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    lines.push(`${error.name}: ${error.message}`);
  }
  return lines.map((line) => `${line}\n`).join('');
}

/** Its line and value or problem; and the line of NDJSON that stands for it if that is another text. */
function describeEntry(entry: Entry): string {
  const text = entry.text();
  expect(text).not.toMatch(/[\r\n]/);
  const value = 'value' in entry ? JSON.stringify(entry.value) : `! ${entry.problem}`;
  return `${entry.line} ${value}${text === value ? '' : ` <- ${text}`}`;
}
