// `npm run bench -- --only scale`: what each command costs with 10,000, 100,000 and 1,000,000 users, for the guide on capacity.
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  createReadStream,
  createWriteStream,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import Database from 'better-sqlite3';
import { listOfProfile } from '../../src/stores/sql/merge-statements.ts';
import { APPLICATION_ID } from '../../src/stores/sqlite/file.ts';
import { fixture } from '../support/files.ts';
import { havePostgres, startCluster } from '../support/postgres-rig.ts';
import { folio } from '../support/records.ts';
import { execute } from './contenders.ts';
import { load, type Target } from './load.ts';
import { BUILT, cpuTime, pageIn, type Server, startScaled, stop } from './servers.ts';

const LOAD_SECONDS = 3;
/** A user has about 28 published files, and each takes CPU and a block of the disk. */
const MOST_PUBLISHED = 30_000;
/** A picture takes about 5 ms of CPU. */
const MOST_FETCHED = 20_000;
const OLDEST_SCHEMA = 4;

/** The cells of a row, by its name. */
type Column = Map<string, string>;

/** Makes a process print its CPU seconds and the most memory that it had. */
const TELL = `data:text/javascript,process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  process.stderr.write('\\nused ' + (userCPUTime + systemCPUTime) / 1e6 + ' ' + maxRSS / 1024);
})`;

interface Usage {
  readonly cpu: number;
  readonly rss: number;
  /** Bytes that lay in the folder, and in temporary files, at most. */
  readonly peak: number;
}

/** The rows, and the cells of each size. */
export async function measureScale(
  folder: string,
  sizes: readonly number[],
  onProgress: (text: string) => void,
) {
  await execute(['npm', 'run', '--silent', 'build']);
  const columns: Column[] = [];
  for (const users of sizes) {
    onProgress(`${users} users`);
    columns.push(await measureSize(join(folder, String(users)), users));
  }
  const names = [...new Set(columns.flatMap((column) => [...column.keys()]))];
  const head = ['', ...sizes.map((users) => `${users.toLocaleString('en')} users`)];
  const rows = names.map((name) => [name, ...columns.map((column) => column.get(name) ?? '')]);
  const rule = head.map((_, index) => (index === 0 ? '---' : '---:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

async function measureSize(folder: string, users: number): Promise<Column> {
  const column: Column = new Map();
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary, { recursive: true });
  const [records, night, database] = ['all.ndjson', 'night.ndjson', 'site.db'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  await execute([process.execPath, BUILT, 'samples', '--users', String(users), records]);
  const user = firstUser(records);
  await writeNight(records, night);
  column.set('records as NDJSON', megabytes(statSync(records).size));
  const run = (...args: string[]) =>
    measure(folder, ['--database-url', database, ...args], {
      SQLITE_TMPDIR: temporary,
      PUBLIC_URL: 'https://people.example.org',
    });
  const own = () => sizeOf(records) + sizeOf(night);

  const first = await run('import', records);
  column.set('import: CPU, memory', shown(first));
  column.set('database file', megabytes(statSync(database).size));
  column.set('import: disk at most, with temporary files', megabytes(first.peak - own()));
  const before = statSync(database).size;
  const nightly = await run('import', night);
  column.set('update of 1% of the users: CPU, memory', shown(nightly));
  column.set('update of 1%: disk beside the file', megabytes(nightly.peak - own() - before));
  column.set('count', shown(await run('count')));
  const copy = join(folder, 'copy.db');
  column.set('snapshot', shown(await run('snapshot', copy)));
  await measureRestore(column, folder, copy);
  rmSync(copy);
  column.set('export', shown(await run('export', join(folder, 'export.ndjson'))));
  rmSync(join(folder, 'export.ndjson'));
  column.set('check', shown(await run('check')));
  column.set('takedown of one user', shown(await run('takedown', '--family', 'portfolio', user)));
  await measureServing(column, database);
  if (users <= 100_000) {
    await measurePublishing(column, `${folder}-publishing`, users);
    await measurePictures(column, `${folder}-pictures`, users);
  }
  column.set('migrate --compact', shown(await run('migrate', '--compact')));
  await measureMigration(column, `${folder}-old`, database);
  if (havePostgres)
    await measurePostgres(column, folder, {
      'import: CPU with the server, memory of the command': ['import', records],
      'update of 1%: CPU with the server': ['import', night],
      'check: CPU with the server': ['check'],
      'takedown of one user: CPU with the server': ['takedown', '--family', 'portfolio', user],
    });
  return column;
}

/** In place of nothing, and of the same data. */
async function measureRestore(column: Column, folder: string, snapshot: string): Promise<void> {
  const restored = join(folder, 'restored.db');
  const restore = () => measure(folder, ['--database-url', restored, 'restore', snapshot], {});
  column.set('restore', shown(await restore()));
  column.set('restore over the same data', shown(await restore()));
  for (const end of ['', '-wal', '-shm']) rmSync(`${restored}${end}`, { force: true });
}

/** Each user has a picture of 7 KB on this machine, from which copies of several sizes are made. */
async function measurePictures(column: Column, folder: string, users: number): Promise<void> {
  const fetched = Math.min(users, MOST_FETCHED);
  const note = fetched < users ? `${fetched.toLocaleString('en')} pictures: ` : '';
  const picture = await makePicture();
  // Bytes behind its end make each another file.
  const site = createServer(({ url }, response) =>
    response.end(Buffer.concat([picture, Buffer.from(`${url}`)])),
  );
  await once(site.listen(0, '127.0.0.1'), 'listening');
  // A server that listens on a port has an address of this type.
  const host = `127.0.0.1:${(site.address() as AddressInfo).port}`;
  mkdirSync(folder);
  const records = join(folder, 'all.ndjson');
  const record = (id: number) =>
    JSON.stringify(folio(id, `user${id}`, { avatar: `http://${host}/${id}.jpg` }));
  writeFileSync(records, Array.from({ length: fetched }, (_, index) => `${record(index + 1)}\n`).join(''));
  const run = (...args: string[]) =>
    measure(folder, ['--database-url', join(folder, 'site.db'), ...args], {});
  const fetch = async () =>
    note + shown(await run('media', 'fetch', '--media-hosts', host, '--rate', '10000'));
  await run('import', records);
  column.set('media fetch', await fetch());
  column.set('media fetch with nothing new', await fetch());
  site.close();
  rmSync(folder, { recursive: true });
}

/** A JPEG of noise, 96 pixels high and wide. */
async function makePicture(): Promise<Buffer> {
  const { default: sharp } = await import('sharp');
  const noise = Buffer.from(Array.from({ length: 96 * 96 * 3 }, (_, index) => (index * 7919) % 251));
  return await sharp(noise, { raw: { width: 96, height: 96, channels: 3 } })
    .jpeg()
    .toBuffer();
}

async function measurePublishing(column: Column, folder: string, users: number): Promise<void> {
  const published = Math.min(users, MOST_PUBLISHED);
  const note = published < users ? `with ${published.toLocaleString('en')} users: ` : '';
  mkdirSync(folder);
  const [records, night, database] = ['all.ndjson', 'night.ndjson', 'site.db'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  await execute([process.execPath, BUILT, 'samples', '--users', String(published), records]);
  await writeNight(records, night);
  const env = { PUBLIC_URL: 'https://people.example.org' };
  const run = (...args: string[]) => measure(folder, ['--database-url', database, ...args], env);
  // Beside the folder that is looked through meanwhile.
  const site = `${folder}-site`;
  const publish = async () => note + shown(await run('publish', '--for', 'nginx', '--quiet', site));
  await run('import', records);
  column.set('publish', await publish());
  // Both trees have most files in common.
  const [kilobytes] = execFileSync('du', ['-sk', site], { encoding: 'utf8' }).split('\t');
  column.set('published files: disk', note + megabytes(Number(kilobytes) * 1024));
  await run('import', night);
  column.set('publish after an update of 1%', await publish());
  await run('takedown', '--family', 'portfolio', firstUser(records));
  column.set('publish after a takedown of one user', await publish());
  for (const path of [site, folder]) rmSync(path, { recursive: true });
}

async function measureMigration(column: Column, folder: string, database: string): Promise<void> {
  mkdirSync(folder);
  const old = join(folder, 'old.db');
  writeOld(old, database);
  const before = statSync(old).size;
  const usage = await measure(folder, ['--database-url', old, 'migrate'], {});
  column.set('migrate from version 1.0: CPU, memory', shown(usage));
  column.set('migrate from version 1.0: disk beside the file', megabytes(usage.peak - before));
  rmSync(folder, { recursive: true });
}

/** Writes the users of a database as version 1.0 stored them. */
function writeOld(path: string, database: string): void {
  const db = new Database(path);
  try {
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.pragma(`user_version = ${OLDEST_SCHEMA}`);
    db.exec(readFileSync(fixture('older/004-records.sql'), 'utf8'));
    db.prepare('ATTACH ? AS site').run(database);
    db.exec(`
      BEGIN;
      INSERT INTO profiles (family, user_key, id, etag, record)
        SELECT family, user_key, id, etag, record FROM site.profiles;
      INSERT INTO items SELECT * FROM site.items;
      INSERT INTO lists (family, user_key, owner, etag, items)
        SELECT profiles.family, profiles.user_key, profiles.id, list.etag, ${listOfProfile('record')}
        FROM profiles JOIN site.lists AS list ON list.family = profiles.family AND list.owner = profiles.id
        WHERE collection IN ('posts', 'Shots');
      UPDATE main.vitrine SET generation = (SELECT generation FROM site.vitrine);
      COMMIT`);
    db.pragma('journal_mode = WAL');
  } finally {
    db.close();
  }
}

/** Every hundredth user has another text. */
async function writeNight(records: string, night: string): Promise<void> {
  async function* changed() {
    let profiles = 0;
    for await (const line of createInterface({ input: createReadStream(records) }))
      if (line.includes('"username":') && profiles++ % 100 === 0)
        yield `${JSON.stringify({ ...JSON.parse(line), location: 'elsewhere' })}\n`;
  }
  await pipeline(Readable.from(changed()), createWriteStream(night));
}

/** The file may be longer than a string can be. */
function firstUser(records: string): string {
  const beginning = Buffer.alloc(1_000_000);
  const file = openSync(records, 'r');
  const bytes = readSync(file, beginning, 0, beginning.length, 0);
  closeSync(file);
  const line = beginning
    .toString('utf8', 0, bytes)
    .split('\n')
    .find((text) => text.includes('"username":') && text.includes('"totalShots":'));
  return JSON.parse(line ?? '{}').username;
}

/** Runs a command, and looks at its folder while it runs. */
async function measure(folder: string, args: readonly string[], env: Record<string, string>): Promise<Usage> {
  const [flag = '', url = '', name = '', ...others] = args;
  let peak = 0;
  let timer: NodeJS.Timeout | undefined;
  try {
    const stderr = await new Promise<string>((resolve, reject) => {
      const { pid } = execFile(
        process.execPath,
        ['--import', TELL, BUILT, name, ...others, flag, url],
        { env: { ...process.env, ...env }, maxBuffer: 1 << 28 },
        (error, _, text) => (error ? reject(error) : resolve(text)),
      );
      timer = setInterval(() => {
        peak = Math.max(peak, folderSize(folder) + unlinkedSize(pid));
      }, 100);
    });
    const [, cpu, rss] = /^used (\S+) (\S+)/m.exec(stderr) ?? [];
    return { cpu: Number(cpu), rss: Number(rss), peak };
  } finally {
    clearInterval(timer);
  }
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
const folderSize = (folder: string): number =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).reduce(
    (sum, name) => sum + sizeOf(join(folder, name)),
    0,
  );

/** SQLite unlinks its temporary files when it makes them. A process that ends has none. */
function unlinkedSize(pid: number | undefined): number {
  const descriptors = `/proc/${pid}/fd`;
  try {
    const files = readdirSync(descriptors).map((name) =>
      statSync(join(descriptors, name), { throwIfNoEntry: false }),
    );
    return files.reduce((sum, file) => (file?.isFile() && file.nlink === 0 ? sum + file.size : sum), 0);
  } catch {
    return 0;
  }
}

async function measureServing(column: Column, database: string): Promise<void> {
  const users = readUsers(database);
  const lists = writeAddresses(`${database}-lists.txt`, users, (user) => `/b/api/username/${user}/shots`);
  const pages = writeAddresses(`${database}-pages.txt`, users, (user) => `/people/b/${user}`);
  const one = await startScaled(database);
  column.set('start to the first response', `${Math.round(one.startMs)} ms`);
  if (dropCaches()) column.set('lists, cold page cache: responses/s, CPU each', await rate(one, lists));
  pageIn(one);
  column.set('lists, warm: responses/s, CPU each', await rate(one, lists));
  column.set("people's pages, warm: responses/s, CPU each", await rate(one, pages));
  await stop(one);
}

async function rate(server: Server, target: Target): Promise<string> {
  const before = cpuTime(server.child.pid);
  const { requests, seconds, failed, refused } = await load(server.port, target, LOAD_SECONDS, 7);
  const cpu = (cpuTime(server.child.pid) - before) / requests;
  if (failed + refused > 0) throw new Error(`${failed} requests failed, ${refused} were refused`);
  return `${Math.round(requests / seconds).toLocaleString('en')}, ${cpu.toFixed(0)} µs`;
}

/** The names of some users, spread over all of them. */
function readUsers(database: string): string[] {
  const db = new Database(database, { readonly: true });
  try {
    return db
      .prepare<[], string>(
        "SELECT user_key FROM profiles WHERE family = 'portfolio' ORDER BY etag LIMIT 20000",
      )
      .pluck()
      .all();
  } finally {
    db.close();
  }
}

/** Writes an address for each user to the file. */
function writeAddresses(file: string, users: readonly string[], address: (user: string) => string): Target {
  writeFileSync(file, users.map((user) => `${address(encodeURIComponent(user))}\n`).join(''));
  return { before: '', users: users.length, addresses: file };
}

/** Only root may. */
function dropCaches(): boolean {
  try {
    writeFileSync('/proc/sys/vm/drop_caches', '3');
    return true;
  } catch {
    return false;
  }
}

async function measurePostgres(
  column: Column,
  folder: string,
  commands: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  const cluster = await startCluster();
  try {
    const database = await cluster.createDatabase();
    const url = cluster.url(database);
    for (const [name, args] of Object.entries(commands)) {
      const before = postgresCpu();
      const usage = await measure(folder, ['--database-url', url, ...args], {});
      column.set(`PostgreSQL, ${name}`, shown({ ...usage, cpu: usage.cpu + postgresCpu() - before }));
    }
    const [size] = await cluster.primary.sql(`SELECT pg_database_size('${database}') AS bytes`);
    column.set('PostgreSQL, database', megabytes(Number(size?.bytes)));
  } finally {
    await cluster.remove();
  }
}

/** CPU seconds of all PostgreSQL processes, also of those that have ended and were waited for. */
function postgresCpu(): number {
  const ticks = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        if (!stat.includes('(postgres)')) return [];
        const fields = stat
          .replace(/^.*\) /, '')
          .split(' ')
          .map(Number);
        return [fields[11], fields[12], fields[13], fields[14]].map((value) => value ?? 0);
      } catch {
        return [];
      }
    });
  return ticks.reduce((sum, value) => sum + value, 0) / 100;
}

const shown = ({ cpu, rss }: Usage) =>
  `${cpu < 10 ? cpu.toFixed(1) : Math.round(cpu)} s, ${Math.round(rss)} MB`;
const megabytes = (bytes: number) => `${Math.round(Math.max(bytes, 0) / 1e6).toLocaleString('en')} MB`;
