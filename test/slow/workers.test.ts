// Workers that are killed under load take only their own connections with them: clients reconnect, and nobody hangs.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { freePort } from '../free-port.ts';
import { ask, databaseOf, fixture, startServer } from '../rig.ts';
import { metricsOf, startLoad, until } from '../stress.ts';

const KILLS = 5;
const CLOSE_WAIT = '08';

const workersOf = (supervisor: number) =>
  readFileSync(`/proc/${supervisor}/task/${supervisor}/children`, 'utf8')
    .split(' ')
    .filter(Boolean)
    .map(Number);

/** Connections of a local port that the client has closed and the server has not. */
function abandoned(port: number): string[] {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, address, , state]) => address?.endsWith(local) && state === CLOSE_WAIT)
    .map((columns) => columns.join(' '));
}

test(`${KILLS} killed workers leave no client waiting`, async () => {
  const port = await freePort();
  const database = await databaseOf(fixture('microblog.ndjson'));
  const server = await startServer({
    DATABASE_URL: database,
    WORKERS: '4',
    PORT: String(port),
    ADMIN_PORT: '0',
  });
  const supervisor = server.child.pid as number;
  const load = startLoad(
    server,
    ['/a/api/?user=ada'],
    (_, { status }) => (status === 200 ? undefined : `status ${status}`),
    32,
  );
  for (let kill = 1; kill <= KILLS; kill++) {
    await until('four that serve', async () => (await metricsOf(server)).get('vitrine_workers') === 4);
    const alive = workersOf(supervisor);
    const victim = alive[kill % alive.length] as number;
    process.kill(victim, 'SIGKILL');
    await until('its end', () => !workersOf(supervisor).includes(victim));
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
