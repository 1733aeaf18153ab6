// Several workers on one port act as one server: for clients, signals, probes and metrics.
import { once } from 'node:events';
import { readFileSync, renameSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { databaseOf } from '../support/database.ts';
import { fixture, loadedFirst, ugly } from '../support/files.ts';
import { freePort } from '../support/free-port.ts';
import { ask, dial, hearOut, parseReplies } from '../support/http.ts';
import { done, type Environment, run } from '../support/run.ts';
import { type Server, startServer } from '../support/server.ts';
import { adminOf, askMetrics, isRefused, logged, startLoad, until } from '../support/stress.ts';

let server: Server;
let admin: { port: number };
let database: string;

beforeAll(async () => {
  database = await databaseOf(fixture('microblog.ndjson'));
});

async function start(more: Environment = {}): Promise<void> {
  server = await startServer({ DATABASE_URL: database, WORKERS: '2', ADMIN_PORT: '0', ...more });
  admin = adminOf(server);
}

const workersOf = ({ child: { pid } }: Server) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
const workers = () => workersOf(server);

/** The counters and the parts of histograms, each with its labels. */
function readCounters(text: string): Map<string, number> {
  const counters = new Map<string, number>();
  for (const part of text.split(/^# HELP .*\n# TYPE /m)) {
    const [type = '', ...lines] = part.split('\n');
    if (/ (?:counter|histogram)$/.test(type))
      for (const line of lines) counters.set(line.replace(/ \S+$/, ''), Number(line.replace(/^.* /, '')));
  }
  return counters;
}

/** How many sockets listen on the port: each worker has one. */
function countListening({ port }: Server): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 0A`;
  return readFileSync('/proc/net/tcp', 'utf8').split(local).length - 1;
}

/** Requests on a new connection each, so that the workers take turns. */
const askAnew = (path: string) => ask(server, path, { headers: { connection: 'close' } });

describe('two workers', () => {
  beforeAll(() => start());

  it('are summed in the metrics', async () => {
    for (let i = 0; i < 10; i++) expect((await askAnew('/a/api/?user=ada')).status).toBe(200);
    // A worker that is busy for long is left out.
    const { body } = await until('it', async () => {
      const reply = await askMetrics(admin);
      return (
        reply.body.includes('vitrine_requests_total{variant="a",operation="profile",status="200"} 10') &&
        reply
      );
    });
    expect(body).toContain('vitrine_request_duration_seconds_count{variant="a",operation="profile"} 10');
    expect(body).toContain('vitrine_records{kind="microblog profile"} 28');
  });

  it('both serve an import in their next response', async () => {
    expect((await askAnew('/a/api/?user=nadia')).status).toBe(404);
    await done(['import', '--database-url', database, ugly('profile-a.json')]);
    for (let i = 0; i < 6; i++) expect((await askAnew('/a/api/?user=saved')).status).toBe(200);
  });

  it('a removed file is a warning on the admin port', async () => {
    renameSync(database, `${database}.away`);
    await until('it', async () => (await ask(admin, '/readyz')).body.includes('.db does not exist'));
    expect((await askMetrics(admin)).body).toMatch(/^vitrine_store_waiting 1$/m);
    renameSync(`${database}.away`, database);
    await until('it', async () => (await ask(admin, '/readyz')).body === '{"status":"ready"}');
  });

  it('one that dies while its metrics are asked for is left out of them', async () => {
    const supervisor = server.child.pid as number;
    const [first] = workers() as [number];
    const socket = await dial(admin);
    // The supervisor reads the request before it learns of the death.
    process.kill(supervisor, 'SIGSTOP');
    socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    process.kill(first, 'SIGKILL');
    await until('it', async () => /\) Z /.test(readFileSync(`/proc/${first}/stat`, 'utf8')));
    process.kill(supervisor, 'SIGCONT');
    expect(parseReplies(await hearOut(socket)).map(({ status }) => status)).toEqual([200]);
    await until('it', async () => workers().length === 2 && !workers().includes(first));
    await until('it', async () => (await ask(admin, '/readyz')).status === 200);
  });

  it('no counter falls when workers die, one of them or all at once', async () => {
    // The one that replaces the dead one serves.
    await until('it', () => countListening(server) === 2);
    const everyone = workers();
    for (const dying of [everyone.slice(0, 1), workers]) {
      for (let i = 0; i < 10; i++) expect((await askAnew('/a/api/?user=ada')).status).toBe(200);
      const before = readCounters((await askMetrics(admin)).body);
      expect(before.size).toBeGreaterThan(50);
      const killed = typeof dying === 'function' ? dying() : dying;
      for (const pid of killed) process.kill(pid, 'SIGKILL');
      const scrape = async () => {
        const after = readCounters((await askMetrics(admin)).body);
        expect([...before].filter(([name, count]) => !((after.get(name) ?? 0) >= count))).toEqual([]);
      };
      await scrape();
      await until('it', async () => workers().length === 2 && !workers().some((pid) => killed.includes(pid)));
      await until('it', async () => (await ask(admin, '/readyz')).status === 200);
      await scrape();
    }
    const { body } = await askMetrics(admin);
    // One of the test before, one, and two.
    expect(body).toMatch(/^vitrine_worker_deaths_total 4$/m);
    expect(body).toMatch(/^process_start_time_seconds \d{10}$/m);
  });

  it('stop together on a signal', async () => {
    const processes = workers();
    expect(await server.stop()).toBe(0);
    for (const pid of processes) expect(() => process.kill(pid, 0)).toThrow();
  });
});

/** Otherwise it gives up on a worker that takes two seconds, which any of them may on a busy machine. */
const PATIENT = loadedFirst(`const { timeout } = AbortSignal;
  AbortSignal.timeout = (ms) => timeout(ms === 2000 ? 60_000 : ms);`);

describe('two workers of a supervisor that waits a minute for each', () => {
  beforeAll(() => start({ NODE_OPTIONS: PATIENT }));
  afterAll(() => server.stop());

  it('a probe does not wait for one that does not answer, as metrics do', async () => {
    const [first] = workers() as [number];
    process.kill(first, 'SIGSTOP');
    const metrics = askMetrics(admin).then(() => 'metrics');
    const probe = ask(admin, '/readyz').then(({ body }) => body);
    const earliest = await Promise.race([metrics, probe]);
    process.kill(first, 'SIGCONT');
    expect(earliest).toBe('{"status":"ready"}');
    await metrics;
  });

  it('many probes at a time are all answered, and leave no warning in the log', async () => {
    const probes = Array.from({ length: 40 }, () => ask(admin, '/readyz'));
    expect(new Set((await Promise.all(probes)).map(({ status }) => status))).toEqual(new Set([200]));
    expect(server.log.filter((line) => line.includes('MaxListeners'))).toEqual([]);
  });

  it('a killed worker is replaced, and no request fails', async () => {
    const before = workers();
    expect(before).toHaveLength(2);
    process.kill(before[0] as number, 'SIGKILL');
    await until('it', async () => workers().length === 2 && !workers().includes(before[0] as number));
    expect((await ask(admin, '/readyz')).body).toBe('{"status":"ready"}');
    for (let i = 0; i < 6; i++) expect((await askAnew('/a/api/?user=ada')).status).toBe(200);
    const deaths = () => server.log.filter((line) => line.includes('a worker died')).length;
    await until('it', async () => deaths() > 0);
    expect(deaths()).toBe(1);
  });
});

/** Ctrl-C and systemd signal every process at once, and then the supervisor signals its workers. */
describe.concurrent.each(['SIGINT', 'SIGTERM'] as const)('%s to all processes', (signal) => {
  const GET = 'GET /a/api/?user=ada HTTP/1.1\r\nHost: x\r\n';

  /** A server that stops while it has received only a part of each of these requests. */
  async function stopInTheMiddle() {
    const server = await startServer({ WORKERS: '2', SHUTDOWN_DELAY: '2s', SHUTDOWN_GRACE: '1h' });
    const clients = Array.from({ length: 8 }, async () => {
      const socket = await dial(server);
      const heard = hearOut(socket);
      socket.write(`${GET}\r\n${GET}`);
      await once(socket, 'data');
      return { socket, statuses: async () => parseReplies(await heard).map(({ status }) => status) };
    });
    const connected = await Promise.all(clients);
    for (const pid of workersOf(server)) process.kill(pid, signal);
    const isStopping = () =>
      ask(server, '/readyz', { headers: { connection: 'close' } }).then(
        ({ status }) => status === 503,
        // The delay is over, or one of the workers closes its port.
        () => isRefused(server),
      );
    await until('it', async () =>
      (await Promise.all(Array.from({ length: 10 }, isStopping))).every((stops) => stops),
    );
    server.child.kill(signal);
    // By then it has signalled its workers.
    await logged(server, /^stopping$/);
    await until('it', () => isRefused(server));
    return { server, clients: connected };
  }

  it('lets requests in flight finish', async () => {
    const { server, clients } = await stopInTheMiddle();
    for (const { socket, statuses } of clients) {
      socket.write('\r\n');
      expect(await statuses()).toEqual([200, 200]);
    }
    expect(await server.ended).toBe(0);
  });

  it('ends everything at once when the supervisor gets it again', async () => {
    const { server, clients } = await stopInTheMiddle();
    server.child.kill(signal);
    expect(await server.ended).toBe(1);
    for (const { statuses } of clients) expect(await statuses()).toEqual([200]);
  });
});

it('answer at once, although a metrics module is slow to load', async () => {
  // A worker that listens and then loads it does not answer for a minute.
  const preload = loadedFirst(`import cluster from 'node:cluster';
    import { registerHooks } from 'node:module';
    const listens = () => cluster.isWorker && process.getActiveResourcesInfo().includes('TCPServerWrap');
    const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);
    const isLate = (url) => url.includes('metric-table') && listens();
    registerHooks({ load: (url, context, next) => (isLate(url) && wait(), next(url, context)) });`);
  const server = await startServer({ WORKERS: '2', ADMIN_PORT: '0', NODE_OPTIONS: preload });
  const isRight = async (path: string, body: RegExp) => body.test((await ask(adminOf(server), path)).body);
  await until('it', () => isRight('/readyz', /^{"status":"ready"}$/));
  await until('them', () => isRight('/metrics', /^vitrine_ready 1$/m));
  await until('it', () => isRight('/readyz', /^{"status":"ready"}$/));
  await server.stop();
});

describe('a worker that cannot start', () => {
  it('ends the workers before it, and the supervisor', async () => {
    const preload = loadedFirst(`import cluster from 'node:cluster';
      if (cluster.worker?.id === 2) process.env.DATABASE_URL = '/nowhere/site.db';`);
    const database = await databaseOf(fixture('microblog.ndjson'));
    const env = { DATABASE_URL: database, PORT: '0', WORKERS: '3', NODE_OPTIONS: preload };
    const { code, stderr } = await run(['serve'], { env });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^vitrine: [^\n]*\/nowhere[^\n]*\n$/),
    });
  });

  it('reports the error once and leaves no process running', async () => {
    const { code, stderr } = await run(['serve', '--workers', '2', '--database-url', '/nowhere/site.db']);
    expect(code).toBe(1);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});

const KILLS = 3;
const CLOSE_WAIT = '08';

/** Connections of a local port that the client has closed and the server has not. */
function abandoned(port: number): string[] {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, address, , state]) => address?.endsWith(local) && state === CLOSE_WAIT)
    .map((columns) => columns.join(' '));
}

it(`${KILLS} killed workers leave no client waiting`, async () => {
  const port = await freePort();
  const database = await databaseOf(fixture('microblog.ndjson'));
  const server = await startServer({
    DATABASE_URL: database,
    WORKERS: '4',
    PORT: String(port),
    ADMIN_PORT: '0',
  });
  const load = startLoad(
    server,
    ['/a/api/?user=ada'],
    (_, { status }) => (status === 200 ? undefined : `status ${status}`),
    32,
  );
  for (let kill = 1; kill <= KILLS; kill++) {
    await until('four workers', () => workersOf(server).length === 4);
    const alive = workersOf(server);
    const victim = alive[kill % alive.length] as number;
    process.kill(victim, 'SIGKILL');
    await until('its end', () => !workersOf(server).includes(victim));
    await load.more(200);
  }
  // Ends only when every client has got an answer or an error to its last request.
  const faults = await load.stop();
  expect(faults.filter((fault) => !/ECONNRESET|EPIPE|socket hang up/.test(fault))).toEqual([]);
  expect(load.answered()).toBeGreaterThan(KILLS * 200);
  expect((await ask(server, '/healthz')).status).toBe(200);
  await until('the server to close what clients have closed', () => abandoned(port).length === 0);
  expect(await server.stop()).toBe(0);
});
