// What commands print and what addresses answer: fixtures/cases/TOPIC.txt holds cases, TOPIC.out what they gave. After a
// wanted change, `npm test -- -u cases` writes the .out files anew: read their diff before you commit it.
//
// A case begins with `=== NAME`. Then come its steps, each a line:
//   $ [NAME=VALUE …] ARGS             runs a command; `%` gives it a process of its own
//   & [NAME=VALUE …]                  serves with these settings; URL in a later command is its address
//   > [METHOD] PATH [HEADER:VALUE …] [| PATTERN]   asks the server; with `|`, only the lines of headers and body that
//                                     match are kept
//   ? [--lists NAMES] [--encoding E]  tries the readers of formats; so does a case without steps
// and its files: `@ NAME`, or `<` for standard input. The records of site.ndjson are imported first. In files, a line
// `* N TEXT` stands for N lines with the number in place of `#`, and `⟨0d 0a⟩` for bytes.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readRecords } from '../src/formats/detect.ts';
import { type Entry, FormatError } from '../src/formats/entry.ts';
import { ROOT, tempFolder } from './files.ts';
import { recordsIn } from './importing.ts';
import { ask, importInto, type LocalServer, type Reply, run, spawned } from './rig.ts';
import { serveHere } from './serve-here.ts';

const FOLDER = join(ROOT, 'fixtures/cases');
const topics = readdirSync(FOLDER).filter((name) => name.endsWith('.txt'));

test.each(topics)('%s', async (topic) => {
  const cases = readFileSync(join(FOLDER, topic), 'utf8').split(/^=== /m).slice(1);
  const results: string[] = [];
  for (const one of cases) results.push(`=== ${one.slice(0, one.indexOf('\n'))}\n${await runCase(one)}`);
  await expect(results.join('\n')).toMatchFileSnapshot(join(FOLDER, topic.replace('.txt', '.out')));
});

async function runCase(text: string): Promise<string> {
  const steps = [...text.matchAll(/^([$%?&>])( .*)?$/gm)].map(([, how = '', rest = '']) => ({
    how,
    words: [...rest.matchAll(/(?:'[^']*'|[^' ])+/g)].map(([word]) => word.replaceAll("'", '')),
    rest: rest.trim(),
  }));
  const parts = text
    .replace(/^.*\n/, '')
    .replace(/^[$%?&>](?: .*)?\n/gm, '')
    .split(/^(?=@ .|<$)/m);
  const input = toBytes((parts.find((part) => !part.startsWith('@ ')) ?? '').replace(/^<\n/, ''));
  const [first] = steps;
  if (first === undefined || first.how === '?') return await readInPieces(input, first?.words ?? []);
  const session = await openSession(parts.filter((part) => part.startsWith('@ ')));
  const results: string[] = [];
  for (const { how, words, rest } of steps)
    if (how === '&') await session.serve(words);
    else results.push(how === '>' ? await session.request(rest) : await session.command(how, words, input));
  return results.join('');
}

/** Writes the files of a case; its steps share a database and a server. */
async function openSession(files: readonly string[]) {
  const folder = join(tempFolder(), 'in');
  const database = join(dirname(folder), 'site.db');
  mkdirSync(folder);
  for (const file of files) {
    const name = file.slice(2, file.indexOf('\n'));
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), toBytes(file.slice(file.indexOf('\n') + 1)));
  }
  const site = join(folder, 'site.ndjson');
  if (existsSync(site)) await importInto(database, [site]);
  const readDatabase = async () =>
    existsSync(database)
      ? (await recordsIn(database)).map((line) => `${withoutDefaults(line)}\n`).join('')
      : 'no database\n';
  let records = existsSync(site) ? await readDatabase() : '';
  let server: LocalServer | undefined;

  const plain = (text: string) =>
    text
      .replaceAll(`${folder}/`, '')
      .replaceAll(folder, '.')
      .replaceAll(database, 'site.db')
      .replaceAll(server?.url ?? '\0', 'URL');

  return {
    async serve(words: readonly string[]) {
      const { env } = splitSettings(words);
      server = await serveHere({ ...(existsSync(site) && { DATABASE_URL: database }), ...env });
    },
    async request(rest: string) {
      const [, address = '', pattern] = /^(.*?)(?: \|(?: |$)(.*))?$/.exec(rest) ?? [];
      const words = address.split(' ');
      const method = /^[A-Z]+$/.test(words[0] ?? '') ? (words.shift() as string) : 'GET';
      const [path = '', ...fields] = words;
      const headers = Object.fromEntries(fields.map((field) => field.split(/:(.*)/s).slice(0, 2)));
      const reply = await ask(server as LocalServer, path, { method, headers });
      return plain(`${reply.status} ${address}\n${describeReply(reply, pattern)}`);
    },
    /** What a command printed and wrote, and the records of the database if they are others than before. */
    async command(how: string, words: readonly string[], input: Buffer) {
      const { env, rest } = splitSettings(words);
      const args = rest.map((arg) =>
        arg.startsWith('./') ? join(folder, arg) : arg.replace('URL', server?.url ?? 'URL'),
      );
      const before = readdirSync(folder);
      const start = how === '%' ? spawned : run;
      const options = { env: { DATABASE_URL: database, ...env }, input };
      const { code, stdout, stderr } = await start(args, options);
      const written = readdirSync(folder)
        .filter((name) => !before.includes(name))
        .map((name) => `@ ${name}\n${readFileSync(join(folder, name), 'utf8')}`);
      const now = await readDatabase();
      const changed = now === records ? '' : now;
      records = now;
      return `exit ${code}\n${plain(stderr + stdout)}${written.join('')}${changed}`;
    },
  };
}

function splitSettings(words: readonly string[]) {
  const isSetting = (word: string) => /^[A-Z_]+=/.test(word);
  const first = words.findIndex((word) => !isSetting(word));
  const settings = first === -1 ? words : words.slice(0, first);
  const env = Object.fromEntries(settings.map((word) => word.split(/=(.*)/s).slice(0, 2)));
  return { env, rest: words.slice(settings.length) };
}

/** The body, or the lines of headers and body that match. JSON and markup get a line for each of their parts. */
function describeReply({ headers, body }: Reply, pattern: string | undefined): string {
  const type = headers['content-type'] ?? '';
  const text = /json/.test(type) ? JSON.stringify(JSON.parse(body || 'null'), null, 1) : body;
  const lines = (/html|xml/.test(type) ? text.replaceAll(/>(?=<)/g, '>\n') : text)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const isKept = (line: string) => pattern !== '' && new RegExp(pattern ?? '').test(line);
  const kept = pattern === undefined ? lines : [...fields, ...lines].filter(isKept);
  return kept.map((line) => `${line}\n`).join('');
}

/** Bytes are written in hexadecimal digits; none of them end a text without a line feed. */
const toBytes = (text: string) =>
  Buffer.concat(
    text
      .replaceAll(/^\* (\d+) (.*\n)/gm, (_, count, line) =>
        Array.from({ length: Number(count) }, (_, nth) => line.replaceAll('#', String(nth + 1))).join(''),
      )
      .replace(/⟨⟩\n/g, '')
      .split(/⟨|⟩/)
      .map((part, index) =>
        Buffer.from(part.replaceAll(index % 2 ? ' ' : '\0', ''), index % 2 ? 'hex' : 'utf8'),
      ),
  );

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
