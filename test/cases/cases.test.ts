// What commands print and what addresses answer: fixtures/cases/TOPIC.txt holds cases, TOPIC.out what they gave. After a
// wanted change, `npm test -- cases -u` writes the .out files anew: read their diff before you commit it.
//
// A case begins with `=== NAME`. Then come its steps, each a line:
//   $ [NAME=VALUE …] ARGS             runs a command, `serve` up to the server's start; `%` gives it a process of its own
//   & [NAME=VALUE …] [ARGS]           serves with these settings; URL in a later command is its address
//   > [METHOD] PATH [HEADER:VALUE …]  asks the server
//   ~ NAME                            from now on the site at SITE (HOST) answers with the files NAME:/PATH, not http:/PATH
//   ! [./NAME] SQL                    changes the database, or this file, as no command does; `⟨00⟩` stands for bytes
//   ? [--lists NAMES] [--encoding E]  tries the readers of formats; so does a case without steps
// and its files: `@ NAME`, `@ http:/PATH [STATUS] [HEADER:VALUE …]` on the site, which answers 304 where it may, or `<` for
// standard input. The records of site.ndjson are imported first. A step that ends in `| PATTERN` keeps only the lines that
// match, of headers too. In files, a line `* N TEXT` stands for N lines with the number in place of `#`, and `⟨0d 0a⟩` for
// bytes.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { isPostgresUrl } from '../../src/config/database-url.ts';
import type { Entry } from '../../src/import/formats/entry.ts';
import { plainFolder, ROOT } from '../support/files.ts';
import { executeSql, readEntries, recordsIn } from '../support/importing.ts';
import { startSite } from '../support/mirror-site.ts';
import {
  ask,
  importInto,
  type LocalServer,
  newDatabase,
  prepareServe,
  type Reply,
  spawned,
  storeName,
} from '../support/rig.ts';
import { serveHere } from '../support/serve-here.ts';

const FOLDER = join(ROOT, 'fixtures/cases');
const topics = readdirSync(FOLDER).filter((name) => name.endsWith('.txt'));
/** Of these, every store gives the same. */
const OF_STORES = ['check.txt', 'ownership.txt', 'stores.txt', 'takedown.txt'];

describe(`on ${storeName()}`, () => {
  test.each(storeName() === 'SQLite' ? topics : OF_STORES)('%s', async (topic) => {
    const cases = readFileSync(join(FOLDER, topic), 'utf8').split(/^=== /m).slice(1);
    const results: string[] = [];
    for (const one of cases) results.push(`=== ${one.slice(0, one.indexOf('\n'))}\n${await runCase(one)}`);
    await expect(results.join('\n')).toMatchFileSnapshot(join(FOLDER, topic.replace('.txt', '.out')));
  });
});

interface Step {
  readonly how: string;
  readonly line: string;
  readonly words: string[];
  /** Only the lines that match are kept. */
  readonly pattern: string | undefined;
}

const STEP = /^([$%?&>~!])(?: (.*?))?(?: \| ?(.*))?\n/gm;

async function runCase(text: string): Promise<string> {
  const steps = [...text.matchAll(STEP)].map(([, how = '', line = '', pattern]): Step => {
    const words = [...line.matchAll(/(?:'[^']*'|[^' ])+/g)].map(([word]) => word.replaceAll("'", ''));
    return { how, line, words, pattern };
  });
  const parts = text
    .replace(/^.*\n/, '')
    .replace(STEP, '')
    .split(/^(?=@ .|<$)/m);
  const input = toBytes((parts.find((part) => !part.startsWith('@ ')) ?? '').replace(/^<\n/, ''));
  const [first] = steps;
  if (first === undefined || first.how === '?') return await readInPieces(input, first?.words ?? []);
  await using session = await openSession(parts.filter((part) => part.startsWith('@ ')));
  const results: string[] = [];
  for (const step of steps)
    if (step.how === '&') await session.serve(step);
    else if (step.how === '~') session.answer(step);
    else if (step.how === '!') results.push(await session.execute(step));
    else results.push(step.how === '>' ? await session.request(step) : await session.command(step, input));
  return results.join('');
}

interface SiteAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const NOT_FOUND: SiteAnswer = { status: 404, headers: {}, body: Buffer.alloc(0) };

/** Writes the files of a case; its steps share a database, a server and a site. */
async function openSession(parts: readonly string[]) {
  const folder = join(plainFolder(), 'in');
  const database = await newDatabase();
  mkdirSync(folder);
  const answers = new Map<string, SiteAnswer>();
  let prefix = 'http:';
  const site = await startSite((request, response) => {
    const { status, headers, body } = answers.get(prefix + request.url) ?? NOT_FOUND;
    const { 'if-none-match': tag = '-', 'if-modified-since': time = '-' } = request.headers;
    const isKnown = tag === headers.etag || time === headers['last-modified'];
    response.writeHead(isKnown ? 304 : status, headers).end(isKnown ? '' : body);
  });
  for (const part of parts) {
    const name = part.slice('@ '.length, part.indexOf('\n'));
    const body = toBytes(part.slice(part.indexOf('\n') + 1).replaceAll('SITE', site.url));
    if (name.includes(':/')) {
      const [address = '', ...words] = name.replaceAll('SITE', site.url).split(' ');
      const status = /^\d{3}$/.test(words[0] ?? '') ? Number(words.shift()) : 200;
      answers.set(address, { status, headers: readFields(words), body });
    } else {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), body);
    }
  }
  const first = join(folder, 'site.ndjson');
  const hasRecords = existsSync(first);
  if (hasRecords) await importInto(database, [first]);
  let records = hasRecords ? await readDatabase(database) : [];
  let server: LocalServer | undefined;

  /** Without what differs from run to run. */
  const settle = (lines: readonly string[]) =>
    lines
      .map((line) => `${line}\n`)
      .join('')
      .replaceAll(`${folder}/`, '')
      .replaceAll(folder, '.')
      .replaceAll(database, 'site.db')
      .replaceAll(/postgres:\/\/…@\S+/g, 'site.db')
      .replaceAll(`${ROOT}/`, '')
      .replaceAll(server?.url ?? '\0', 'URL')
      .replaceAll(site.url, 'SITE')
      .replaceAll(new URL(site.url).host, 'HOST');

  const locate = (word: string) =>
    word
      .replace(/(?<=^|=)\.\//, `${folder}/`)
      .replace(/(?<=^|=)(?=(?:fixtures|src)\/)/, `${ROOT}/`)
      .replace(/^URL(?=\/|$)/, server?.url ?? 'URL')
      .replace(/^SITE(?=\/|$)/, site.url)
      .replace(/^HOST$/, new URL(site.url).host);

  return {
    async [Symbol.asyncDispose]() {
      site.close();
      await server?.stop();
    },
    answer({ line }: Step) {
      prefix = `${line}:`;
    },
    async execute({ line }: Step) {
      const [, file, sql = ''] = /^(?:\.\/(\S+) )?(.*)$/.exec(line) ?? [];
      await executeIn(file === undefined ? database : join(folder, file), sql);
      return `! ${line}\n`;
    },
    async serve({ words }: Step) {
      const { env, args } = splitSettings(words.map(locate));
      server = await serveHere({ ...(hasRecords && { DATABASE_URL: database }), ...env }, args);
    },
    async request({ line, words, pattern }: Step) {
      const method = /^[A-Z]+$/.test(words[0] ?? '') ? (words.shift() as string) : 'GET';
      const [path = '', ...fields] = words;
      const headers = readFields(fields);
      const asking = ask(server as LocalServer, path, { method, headers });
      return await asking.then(
        (reply) => settle([`${reply.status} ${line}`, ...describeReply(reply, pattern)]),
        (error) => settle([`${error.code} ${line}`]),
      );
    },
    /** What a command printed and wrote, and the records of the database if they are others than before. */
    async command({ how, line, words, pattern }: Step, input: Buffer) {
      const { env, args } = splitSettings(words.map(locate));
      const before = readTexts(folder);
      const options = { env: { DATABASE_URL: database, ...env }, input };
      const { code, stdout, stderr } = await (how === '%' ? spawned : prepareServe)(args, options);
      const written = [...readTexts(folder)].filter(([name, text]) => before.get(name) !== text);
      const now = await readDatabase(database);
      const isSame = now.join() === records.join() || (now[0] === NONE && args[0] !== 'import');
      const changed = isSame ? [] : now;
      records = now;
      const all = [
        ...linesOf(stderr + stdout),
        ...written.flatMap(([name, text]) => [`@ ${name}`, ...linesOf(text)]),
        ...changed,
      ];
      return settle([`exit ${code} ${line}`, ...keep(all, pattern)]);
    },
  };
}

const readFields = (fields: readonly string[]): Record<string, string> =>
  Object.fromEntries(fields.map((field) => field.split(/:(.*)/s).slice(0, 2)));

async function executeIn(url: string, sql: string): Promise<void> {
  if (!isPostgresUrl(url)) return executeSql(url, sql.replaceAll(/⟨(.*?)⟩/g, "x'$1'"));
  const client = new pg.Client(url);
  await client.connect();
  await client.query(sql.replaceAll(/⟨(.*?)⟩/g, "'\\x$1'::bytea"));
  await client.end();
}

/** The texts in a folder; there are databases as well. */
const readTexts = (folder: string) =>
  new Map(
    readdirSync(folder)
      .filter((name) => /\.(ndjson|txt)$/.test(name))
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );

const linesOf = (text: string) =>
  text
    .replace(/\n$/, '')
    .split('\n')
    .filter((line) => line.trim() !== '');

const keep = (lines: string[], pattern: string | undefined) =>
  pattern === undefined ? lines : lines.filter((line) => pattern !== '' && new RegExp(pattern).test(line));

const NONE = 'no database';
const readDatabase = async (database: string) =>
  (await recordsIn(database).catch(() => [NONE])).map(withoutDefaults);

function splitSettings(words: readonly string[]) {
  const first = words.findIndex((word) => !/^[A-Za-z_]+=/.test(word));
  const settings = first === -1 ? words : words.slice(0, first);
  const env = Object.fromEntries(settings.map((word) => word.split(/=(.*)/s).slice(0, 2)));
  return { env, args: words.slice(settings.length) };
}

/** The body, or the lines of headers and body that match. JSON and markup get a line for each of their parts. */
function describeReply({ headers, body }: Reply, pattern: string | undefined): string[] {
  const type = headers['content-type'] ?? '';
  const text = /json/.test(type) ? JSON.stringify(JSON.parse(body || 'null'), null, 1) : body;
  const lines = linesOf(/html|xml/.test(type) ? text.replaceAll(/>(?=<)/g, '>\n') : text);
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return pattern === undefined ? lines : keep([...fields, ...lines], pattern);
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

async function read(content: Buffer, size: number, options: Parameters<typeof readEntries>[2]) {
  const { entries, failure } = await readEntries(content, size, options);
  const lines = [
    ...entries.map(describeEntry),
    ...(failure === undefined ? [] : [`${failure.name}: ${failure.message}`]),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

/** Its line and value or problem; and the line of NDJSON that stands for it if that is another text. */
function describeEntry(entry: Entry): string {
  const text = entry.text();
  expect(text).not.toMatch(/[\r\n]/);
  const value = 'value' in entry ? JSON.stringify(entry.value) : `! ${entry.problem}`;
  return `${entry.line} ${value}${text === value ? '' : ` <- ${text}`}`;
}
