// Several workers on one port act as one server: for clients, signals, probes and metrics.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, databaseOf, done, fixture, run, type Server, startServer, ugly } from './rig.ts';

let server: Server;
let admin: { port: number };
let database: string;

beforeAll(async () => {
  database = await databaseOf(fixture('microblog.ndjson'));
  server = await startServer({ DATABASE_URL: database, WORKERS: '2', ADMIN_PORT: '0' });
  const { adminUrl } = JSON.parse(server.log.find((line) => line.includes('adminUrl')) as string);
  admin = { port: Number(new URL(adminUrl).port) };
});
afterAll(() => server.stop());

const workers = () =>
  readFileSync(`/proc/${server.child.pid}/task/${server.child.pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .map(Number);

async function until<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Requests on a new connection each, so that the workers take turns. */
const askAnew = (path: string) => ask(server, path, { headers: { connection: 'close' } });

describe('two workers', () => {
  it('are summed in the metrics', async () => {
    for (let i = 0; i < 10; i++) expect((await askAnew('/a/api/?user=ada')).status).toBe(200);
    const { body } = await ask(admin, '/metrics');
    expect(body).toContain('vitrine_requests_total{variant="a",operation="profile",status="200"} 10');
    expect(body).toContain('vitrine_request_duration_seconds_count{variant="a",operation="profile"} 10');
    expect(body).toContain('vitrine_records{kind="microblog profile"} 28');
  });

  it('both serve an import in their next response', async () => {
    expect((await askAnew('/a/api/?user=nadia')).status).toBe(404);
    await done(['import', '--database-url', database, ugly('profile-a.json')]);
    for (let i = 0; i < 6; i++) expect((await askAnew('/a/api/?user=saved')).status).toBe(200);
  });

  it('a killed worker is replaced, and no request fails', async () => {
    const before = workers();
    expect(before).toHaveLength(2);
    process.kill(before[0] as number, 'SIGKILL');
    await until(async () => workers().length === 2 && !workers().includes(before[0] as number));
    expect((await ask(admin, '/readyz')).body).toBe('{"status":"ready"}');
    for (let i = 0; i < 6; i++) expect((await askAnew('/a/api/?user=ada')).status).toBe(200);
    expect(server.log.filter((line) => line.includes('a worker died')).length).toBe(1);
  });

  it('stop together on a signal', async () => {
    const processes = workers();
    expect(await server.stop()).toBe(0);
    for (const pid of processes) expect(() => process.kill(pid, 0)).toThrow();
  });
});

describe('a worker that cannot start', () => {
  it('reports the error once and leaves no process running', async () => {
    const { code, stderr } = await run(['serve', '--workers', '2', '--database-url', '/nowhere/site.db']);
    expect(code).toBe(1);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
