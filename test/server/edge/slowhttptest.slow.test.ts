// slowhttptest attacks a server with slow headers, bodies and reads: all are cut, and other clients are served meanwhile.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { tempFolder } from '../../support/files.ts';
import { pathOf, skipWithout } from '../../support/programs.ts';
import { type Server, startServer } from '../../support/server.ts';
import { metricsOf, startLoad, until } from '../../support/stress.ts';

const ADDRESSES = ['/a/api/?user=ada', '/b/api/username/ada/shots'];
const SETTINGS = { ADMIN_PORT: '0', REQUEST_TIMEOUT: '5s', KEEP_ALIVE_TIMEOUT: '4s' };

/** The server and the attacker each need a descriptor per socket, and some for themselves. */
function socketsAllowed(): number {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const most = Number(/^Max open files +\d+ +(\d+)/m.exec(limits)?.[1] ?? 1024);
  return Math.min(2000, most - 150);
}

describe.skipIf(skipWithout('slowhttptest'))('slowhttptest', () => {
  const sockets = socketsAllowed();
  let server: Server;
  beforeAll(async () => {
    server = await startServer(SETTINGS);
  });

  const descriptors = () => readdirSync(`/proc/${server.child.pid}/fd`).length;

  /** How many lists of A were answered: the load asks for none. */
  const listsAnswered = async () =>
    (await metricsOf(server)).get('vitrine_requests_total{variant="a",operation="items",status="200"}') ?? 0;

  /** Starts the attack; `report` is complete when it has ended. */
  function attack(mode: readonly string[]) {
    const url = `${server.url}/a/api/?user=ada&post=true`;
    // On a busy machine an answer to the attacker's probe may take longer than its own five seconds.
    const amount = ['-c', String(sockets), '-r', '1000', '-l', '200', '-p', '60', '-u', url];
    const child = spawn(pathOf('slowhttptest'), [...mode, ...amount], {
      cwd: tempFolder(),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const report = text(child.stdout);
    return { report, runs: () => child.exitCode === null, end: () => child.kill('SIGINT') };
  }

  async function underLoad(judge: () => Promise<void>): Promise<void> {
    const load = startLoad(
      server,
      ADDRESSES,
      (_, { status }) => (status === 200 ? undefined : `${status}`),
      4,
    );
    await judge();
    await load.more(1);
    expect(await load.stop()).toEqual([]);
  }

  test.each([
    ['headers', ['-H', '-i', '1', '-t', 'GET']],
    ['bodies', ['-B', '-i', '1', '-s', '8192', '-t', 'GET']],
  ])(`slow %s on ${sockets} sockets: every one is closed by the server`, (_, mode) =>
    underLoad(async () => {
      const report = await attack(mode).report;
      expect(report).toContain('No open connections left');
      expect(report).not.toMatch(/service available: +NO|^error: +[1-9]/m);
    }),
  );

  // The attacker goes on reading what the kernel has buffered, so the server's own descriptors tell. How many are open at once,
  // and how many get a list before they are given up, depends on the machine: 560 of 2,000 on a busy one. Each asks for eight
  // lists, and the server answers four before it closes.
  test(`slow reads on ${sockets} sockets: the server gives all of them up`, () =>
    underLoad(async () => {
      const before = descriptors();
      const listsBefore = await listsAnswered();
      const { report, runs, end } = attack(['-X', '-w', '10', '-y', '20', '-n', '1', '-z', '5', '-k', '8']);
      try {
        await until('the attack', async () => (await listsAnswered()) >= listsBefore + sockets / 4, 90);
        await until('its end', () => descriptors() < before + 20, 90);
        expect(runs()).toBe(true);
      } finally {
        end();
      }
      expect(await report).not.toMatch(/service available: +NO|^error: +[1-9]/m);
    }));
});
