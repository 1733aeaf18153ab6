// Runs the commands of a case. They share a folder with the case's files, a database, a server, and a site to mirror.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { isPostgresUrl } from '../../src/config/database-url.ts';
import { importInto, newDatabase } from '../support/database.ts';
import { plainFolder, ROOT } from '../support/files.ts';
import { ask, type Reply } from '../support/http.ts';
import { executeSql, recordsIn } from '../support/importing.ts';
import { startSite } from '../support/mirror-site.ts';
import { prepareServe, spawned } from '../support/run.ts';
import { serveHere } from '../support/serve-here.ts';
import type { LocalServer } from '../support/server.ts';
import { toBytes } from './bytes.ts';
import { readInPieces } from './read-in-pieces.ts';
import { alternativesOf, type CaseFile, type Step, type Transcript } from './transcript.ts';

interface SiteAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const NOT_FOUND: SiteAnswer = { status: 404, headers: {}, body: Buffer.alloc(0) };
/** The file of a case whose records are imported first. */
const FIRST = 'site.ndjson';

/** What each command of the case prints. */
export async function runCase({ steps, files }: Transcript): Promise<string[]> {
  await using session = await openSession(files);
  const outputs: string[] = [];
  for (const step of steps) outputs.push(await runAlternatives(step, session.run));
  return outputs;
}

/** What all commands of a line with braces print: once if it is the same, or else below each command. */
async function runAlternatives(step: Step, run: (step: Step) => Promise<string>): Promise<string> {
  const outputs = new Map<string, string>();
  for (const alternative of alternativesOf(step)) outputs.set(alternative.line, await run(alternative));
  const [first = '', ...others] = new Set(outputs.values());
  if (others.length === 0) return first;
  return [...outputs].map(([line, output]) => `${line}\n${output}`).join('');
}

async function openSession(files: readonly CaseFile[]) {
  const folder = join(plainFolder(), 'in');
  mkdirSync(folder);
  const database = await newDatabase();
  const site = await openSite(files);
  for (const { name, text } of files.filter(({ name }) => !name.includes(':/'))) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), toBytes(text.replaceAll('SITE', site.url)));
  }
  const names = new Set(files.map(({ name }) => name));
  const hasRecords = names.has(FIRST);
  if (hasRecords) await importInto(database, [join(folder, FIRST)]);
  let records = hasRecords ? await readDatabase(database) : [];
  let server: LocalServer | undefined;

  const withoutFolders = (text: string) =>
    text
      .replaceAll(`${folder}/`, '')
      .replaceAll(folder, '.')
      .replaceAll(database, 'site.db')
      .replaceAll(/postgres:\/\/…@\S+/g, 'site.db')
      .replaceAll(`${ROOT}/`, '');

  /** Without what differs from run to run. */
  const settle = (lines: readonly string[]) =>
    withoutFolders(lines.map((line) => `${line}\n`).join(''))
      .replaceAll(server?.url ?? '\0', 'URL')
      .replaceAll(site.url, 'SITE')
      .replaceAll(new URL(site.url).host, 'HOST')
      .replaceAll(/(?<=\.)[0-9a-f]{12}(?=\.(?:css|js)\b)/g, 'HASH')
      .replaceAll(/(?<="figures":){[^}]*}/g, '{…}');

  const locate = (word: string) =>
    names.has(word)
      ? join(folder, word)
      : word
          .replace(/(?<=^|=)\.\//, `${folder}/`)
          .replace(/(?<=^|=)(?=(?:fixtures|src)\/)/, `${ROOT}/`)
          .replace(/^URL(?=\/|$)/, server?.url ?? 'URL')
          .replace(/^SITE(?=\/|$)/, site.url)
          .replace(/^HOST$/, new URL(site.url).host);
  const settingsOf = ({ env }: Step) =>
    Object.fromEntries(Object.entries(env).map(([name, value]) => [name, locate(value)]));
  const inputOf = ({ input }: Step) =>
    input === undefined ? Buffer.alloc(0) : readFileSync(join(folder, input));

  async function serve(step: Step): Promise<string> {
    const env = { ...(hasRecords && { DATABASE_URL: database }), ...settingsOf(step) };
    server = await serveHere(env, step.words.slice(1).map(locate));
    return '';
  }

  /** What it printed and wrote, and the records of the database if they are others than before. */
  async function command(step: Step, run: typeof spawned): Promise<string> {
    const args = step.words.map(locate);
    const before = readTexts(folder);
    const options = { env: { DATABASE_URL: database, ...settingsOf(step) }, input: inputOf(step) };
    const { code, stdout, stderr } = await run(args, options);
    const written = [...readTexts(folder)].filter(([name, text]) => before.get(name) !== text);
    const now = await readDatabase(database);
    const isSame = now.join() === records.join() || (now[0] === NONE && args[0] !== 'import');
    const changed = isSame ? [] : now;
    records = now;
    const lines = [
      ...linesOf(stderr + stdout),
      ...written.flatMap(([name, text]) => [`wrote ${name}`, ...linesOf(text)]),
      ...changed,
    ];
    // The name of a folder, such as `clone`, may match the pattern.
    const kept = keep(lines.map(withoutFolders), step.pattern);
    return settle([...kept, ...(code === 0 ? [] : [`[exit ${code}]`])]);
  }

  async function curl({ words, pattern }: Step): Promise<string> {
    const { path, method, headers } = readCurl(words);
    const asking = ask(server as LocalServer, path, { method, headers });
    return await asking.then(
      (reply) => settle([String(reply.status), ...describeReply(reply, pattern)]),
      (error) => settle([error.code]),
    );
  }

  async function sql({ line }: Step): Promise<string> {
    const [, file, statement = ''] = /^sql (?:\.\/(\S+) )?(.*)$/.exec(line) ?? [];
    await executeIn(file === undefined ? database : join(folder, file), statement);
    return '';
  }

  return {
    async [Symbol.asyncDispose]() {
      site.close();
      await server?.stop();
    },
    async run(step: Step): Promise<string> {
      switch (step.command) {
        case 'vitrine':
          return step.isBackground ? await serve(step) : await command(step, prepareServe);
        case 'exec':
          return await command({ ...step, words: step.words.slice(1) }, spawned);
        case 'curl':
          return await curl(step);
        case 'sql':
          return await sql(step);
        case 'site':
          site.answerFrom(step.words[0] ?? '');
          return '';
        case 'read':
          return await readInPieces(inputOf(step), step.words);
        default:
          throw new Error(`unknown command: ${step.line}`);
      }
    },
  };
}

/** The site answers with the files that are named `http:/PATH`, or with those of another name. */
async function openSite(files: readonly CaseFile[]) {
  const answers = new Map<string, SiteAnswer>();
  let prefix = 'http';
  const site = await startSite((request, response) => {
    const { status, headers, body } = answers.get(`${prefix}:${request.url}`) ?? NOT_FOUND;
    const { 'if-none-match': tag = '-', 'if-modified-since': time = '-' } = request.headers;
    const isKnown = tag === headers.etag || time === headers['last-modified'];
    response.writeHead(isKnown ? 304 : status, headers).end(isKnown ? '' : body);
  });
  for (const { name, text } of files.filter(({ name }) => name.includes(':/'))) {
    const [address = '', ...words] = name.replaceAll('SITE', site.url).split(' ');
    const status = /^\d{3}$/.test(words[0] ?? '') ? Number(words.shift()) : 200;
    answers.set(address, {
      status,
      headers: readFields(words),
      body: toBytes(text.replaceAll('SITE', site.url)),
    });
  }
  return Object.assign(site, {
    answerFrom(name: string) {
      prefix = name;
    },
  });
}

function readCurl(words: readonly string[]) {
  const fields = words.filter((_, index) => words[index - 1] === '-H');
  const method = words[words.indexOf('-X') + 1];
  const path = words.find((word, index) => !/^-[HX]$/.test(word) && !/^-[HX]$/.test(words[index - 1] ?? ''));
  return { path: path ?? '', method: words.includes('-X') ? method : 'GET', headers: readFields(fields) };
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

const keep = (lines: string[], pattern: RegExp | undefined) =>
  pattern === undefined ? lines : lines.filter((line) => pattern.test(line));

const NONE = 'no database';
const readDatabase = async (database: string) =>
  (await recordsIn(database).catch(() => [NONE])).map(withoutDefaults);

const withoutDefaults = (record: string) =>
  record.replaceAll(/"\w+":"(?:0|0000-00-00 00:00:00)?",?/g, '').replace(/,}$/, '}');

/** The body, or the lines of headers and body that match. JSON and markup get a line for each of their parts. */
function describeReply({ headers, body }: Reply, pattern: RegExp | undefined): string[] {
  const type = headers['content-type'] ?? '';
  const text = /json/.test(type) ? JSON.stringify(JSON.parse(body || 'null'), null, 1) : body;
  const lines = linesOf(/html|xml/.test(type) ? text.replaceAll(/>(?=<)/g, '>\n') : text);
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return pattern === undefined ? lines : keep([...fields, ...lines], pattern);
}
