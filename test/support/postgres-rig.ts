// Starts PostgreSQL servers for tests: a primary and streaming standbys from Debian's packages, on free ports.
import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from './free-port.ts';
import { pathOf, skipWithout } from './programs.ts';

const run = promisify(execFile);

export const havePostgres = !skipWithout('postgres');

const asRoot = process.getuid?.() === 0;

export type Cluster = Awaited<ReturnType<typeof startCluster>>;
export type PostgresServer = Cluster['primary'];

/** Starts the servers. */
export async function startCluster(standbyCount = 0) {
  const programs = dirname(pathOf('postgres'));
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-postgres-'));
  chmodSync(folder, 0o755);
  let as: string[] = [];
  if (asRoot) {
    // PostgreSQL refuses to run as root.
    const { stdout } = await run('id', ['-u', 'postgres']);
    chownSync(folder, Number(stdout), -1);
    as = ['runuser', '-u', 'postgres', '--'];
  }
  async function program(name: string, ...args: string[]): Promise<void> {
    const [file, ...rest] = [...as, join(programs, name), ...args] as [string, ...string[]];
    // The server that pg_ctl starts would keep its output open.
    await run(file, rest, {
      cwd: folder,
      env: { LC_ALL: 'C.UTF-8', PATH: process.env.PATH },
      timeout: 200_000,
    });
  }

  async function serverIn(data: string) {
    const port = await freePort();
    writeFileSync(join(data, 'vitrine.conf'), confOf(port, folder));
    writeFileSync(join(data, 'postgresql.conf'), `include 'vitrine.conf'\n`);
    const control = (...args: string[]) =>
      program('pg_ctl', '-D', data, '-l', `${data}.log`, '-w', '-t', '30', ...args);
    const postmaster = () => Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
    const server = {
      port,
      address: `127.0.0.1:${port}`,
      /** Runs SQL as the superuser; the rows of the last statement. */
      async sql(text: string, database = 'postgres'): Promise<Record<string, string>[]> {
        const client = new pg.Client({ host: '127.0.0.1', port, user: 'owner', database });
        client.on('error', () => {});
        await client.connect();
        const found = (await client.query(text).finally(() => client.end())) as
          | pg.QueryResult
          | pg.QueryResult[];
        return [found].flat().at(-1)?.rows ?? [];
      },
      /** Runs SQL in a transaction that stays open until the returned function is called. */
      async hold(text: string, database: string) {
        const client = new pg.Client({ host: '127.0.0.1', port, user: 'owner', database });
        await client.connect();
        await client.query(`BEGIN; ${text}`);
        return () => client.end();
      },
      async start(): Promise<void> {
        // A killed server releases its shared memory a moment later.
        for (let attempt = 1; ; attempt++) {
          try {
            return await control('start');
          } catch (error) {
            if (attempt === 20)
              throw new Error(readFileSync(`${data}.log`, 'utf8').slice(-2000), { cause: error });
            await delay(200);
          }
        }
      },
      stop: () => control('-m', 'immediate', 'stop'),
      /** Like a power cut. */
      kill: () => signalAll(postmaster(), 'SIGKILL'),
      freeze: (signal: 'SIGSTOP' | 'SIGCONT') => signalAll(postmaster(), signal),
      promote: () => control('promote'),
    };
    await server.start();
    return server;
  }

  const first = join(folder, 'primary');
  const options = '-U owner -A trust -E UTF8 --locale=C.UTF-8 --no-sync'.split(' ');
  await program('initdb', '-D', first, ...options);
  const primary = await serverIn(first);
  const standbys: (typeof primary)[] = [];
  for (let i = 1; i <= standbyCount; i++) {
    const data = join(folder, `standby${i}`);
    const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'owner'];
    await program('pg_basebackup', ...from, '-D', data, '-R', '-X', 'stream', '-c', 'fast', '--no-sync');
    standbys.push(await serverIn(data));
  }
  const urlOf = (database: string, servers = [primary, ...standbys], user = 'owner') =>
    `postgres://${user}@${servers.map(({ address }) => address).join(',')}/${database}`;
  let made = 0;

  return {
    primary,
    standbys,
    /** A DATABASE_URL of these servers. */
    url: urlOf,
    /** Creates an empty database; returns its name. */
    async createDatabase() {
      const name = `site${++made}`;
      await primary.sql(`CREATE DATABASE ${name}`);
      return name;
    },
    /** The statements that make its tables, as pg_dump writes them. */
    async dumpSchema(database: string): Promise<string> {
      const args = ['--schema-only', '--no-owner', `--dbname=${urlOf(database, [primary])}`];
      const { stdout } = await run(join(programs, 'pg_dump'), args);
      // Those of psql have a random key.
      return stdout.replaceAll(/^\\.*\n/gm, '');
    },
    /** Writes all of a database to a file, for pg_restore. */
    dump: (database: string, file: string) =>
      run(join(programs, 'pg_dump'), ['--format=custom', `--file=${file}`, urlOf(database, [primary])]),
    /** Restores it as the guide says, or without the options that make it one step. */
    restore: (database: string, file: string, ...options: string[]) =>
      run(join(programs, 'pg_restore'), [
        '--clean',
        ...options,
        `--dbname=${urlOf(database, [primary])}`,
        file,
      ]),
    /** Enables TLS on the primary. The role `certified` needs a certificate that this authority of clients signed. */
    async encrypt(key: string, certificate: string, clients: string) {
      const roles = join(first, 'pg_hba.conf');
      writeFileSync(roles, `hostssl all certified all cert\n${readFileSync(roles, 'utf8')}`);
      for (const [from, name] of [
        [key, 'server.key'],
        [certificate, 'server.crt'],
        [clients, 'clients.crt'],
      ] as const) {
        const to = join(first, name);
        writeFileSync(to, readFileSync(from), { mode: 0o600 });
        if (asRoot) chownSync(to, statSync(first).uid, -1);
      }
      await primary.sql("ALTER SYSTEM SET ssl_ca_file = 'clients.crt'");
      await primary.sql('ALTER SYSTEM SET ssl = on');
      await primary.sql('SELECT pg_reload_conf()');
    },
    async remove() {
      await Promise.all([primary, ...standbys].map((server) => server.stop().catch(() => {})));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const confOf = (port: number, folder: string) => `port = ${port}
listen_addresses = '127.0.0.1'
unix_socket_directories = '${folder}'
max_connections = 100
shared_buffers = 32MB
wal_level = replica
hot_standby = on
wal_keep_size = 256MB
recovery_target_timeline = 'latest'
fsync = off
full_page_writes = off
`;

/** The postmaster and its child processes. */
function familyOf(postmaster: number): number[] {
  const children = readdirSync('/proc').filter(
    (pid) => /^\d+$/.test(pid) && statOf(pid)?.[1] === String(postmaster),
  );
  return [postmaster, ...children.map(Number)];
}

function signalAll(postmaster: number, signal: NodeJS.Signals): void {
  for (const pid of familyOf(postmaster)) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      // Some processes exit as soon as they are idle.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/** The fields of /proc/PID/stat from the process state on. */
function statOf(pid: string): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}
