// A listening socket that stays open while servers come and go: no request is lost.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, describe, expect, test } from 'vitest';
import { PROGRAM, tempFile } from '../support/files.ts';
import { startNginx, withoutProxy } from '../support/fronts.ts';
import { ask, type Reply } from '../support/http.ts';
import { pathOf, skipWithout } from '../support/programs.ts';
import { KEEPS_SILENT } from '../support/server.ts';
import { startLoad, until } from '../support/stress.ts';

/**
 * Opens a socket and prints its port; for each line of its input starts a server that inherits it, and prints the server's
 * process id. The system chooses the port: unlike Node, this does not take one with connections that ended a moment ago.
 */
const HOLDER = `
use POSIX; use Socket;
$SIG{CHLD} = 'IGNORE'; $| = 1; $^F = 100;
socket(my $socket, PF_INET, SOCK_STREAM, 0) or die;
bind($socket, sockaddr_in(0, INADDR_LOOPBACK)) && listen($socket, 511) or die;
my ($port) = sockaddr_in(getsockname($socket));
print "{\\"port\\":$port}\\n";
while (<STDIN>) {
  my $pid = fork;
  if ($pid) { print "{\\"pid\\":$pid}\\n"; next }
  open(STDIN, '<', '/dev/null');
  POSIX::dup2(fileno($socket), 3);
  @ENV{'LISTEN_FDS', 'LISTEN_PID'} = (1, $$);
  exec @ARGV;
}
`;

const holders = new Set<ChildProcess>();
const servers = new Set<number>();
afterAll(() => {
  for (const pid of servers) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  for (const holder of holders) holder.kill('SIGKILL');
});

interface Line {
  readonly port?: number;
  readonly pid?: number;
  readonly msg?: string;
  readonly url?: string;
}

describe.skipIf(skipWithout('perl'))('an inherited socket', () => {
  test.each(['1', '2'])('is passed from server to server under load, with %s worker(s)', async (workers) => {
    const { port, start, end } = await startHolder({
      ...KEEPS_SILENT,
      WORKERS: workers,
      SHUTDOWN_DELAY: '1s',
      MAX_LOOP_DELAY: '0',
    });
    let current = await start();
    const judge = (_: string, { status }: Reply) => (status === 200 ? undefined : String(status));
    // Few clients: they share the machine with the servers that start.
    const load = startLoad({ port }, ['/a/api/?user=ada'], judge, 2);
    for (let turn = 0; turn < 2; turn++) {
      await load.more(100);
      const next = await start();
      process.kill(current, 'SIGTERM');
      await until('the old server to end', () => !isAlive(current));
      current = next;
    }
    await load.more(100);
    expect(await load.stop()).toEqual([]);
    // The client keeps a connection, which this closes.
    await ask({ port }, '/healthz', { headers: { connection: 'close' } });
    process.kill(current, 'SIGTERM');
    await end();
  });

  // As systemd holds it.
  test.skipIf(withoutProxy('nginx'))('loses no request behind nginx, while there is no server', async () => {
    const env = { CACHE_CONTROL: 'no-store', MAX_LOOP_DELAY: '0', TRUST_PROXY: 'loopback' };
    const { port, start, end } = await startHolder({ ...KEEPS_SILENT, ...env });
    let current = await start();
    // A slow machine takes long to start a server.
    const front = await startNginx(port, env, 'proxy_read_timeout 10m;');
    const judge = (_: string, { status }: Reply) => (status === 200 ? undefined : String(status));
    const load = startLoad(front, ['/b/api/username/ada'], judge, 4);
    for (let turn = 0; turn < 2; turn++) {
      await load.more(50);
      process.kill(current, 'SIGTERM');
      await until('the server to end', () => !isAlive(current));
      current = await start();
    }
    await load.more(50);
    expect(await load.stop()).toEqual([]);
    // nginx would keep its connections, and so this server, for a minute more.
    process.kill(current, 'SIGKILL');
    await end();
  });

  test('keeps connections that arrive while there is no server', async () => {
    const { port, start, end } = await startHolder({});
    const early = ask({ port }, '/a/api/?user=ada');
    const current = await start();
    expect((await early).status).toBe(200);
    process.kill(current, 'SIGTERM');
    await end();
  });
});

async function startHolder(env: Record<string, string>) {
  const program = tempFile('holder.pl', HOLDER);
  const command = [process.execPath, PROGRAM, 'serve', '--samples'];
  // PORT is another one: the socket decides.
  const child = spawn(pathOf('perl'), [program, ...command], {
    env: { PATH: process.env.PATH, PORT: '1', ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  holders.add(child);
  const lines: Line[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    const said = JSON.parse(line) as Line;
    if (said.pid !== undefined) servers.add(said.pid);
    lines.push(said);
  });
  const { port } = await until('the socket', () => lines.find((line) => line.port !== undefined));
  return {
    port: port as number,

    /** Starts one more server; its process id, once it serves. */
    async start(): Promise<number> {
      const from = lines.length;
      child.stdin.write('\n');
      const fresh = () => lines.slice(from);
      const { url } = await until('a server', () => fresh().find(({ msg }) => msg === 'serving'));
      expect(url).toBe(`http://127.0.0.1:${port}`);
      return await until('its process id', () => fresh().find(({ pid }) => pid !== undefined)?.pid);
    },

    /** Waits until all servers have ended. */
    async end(): Promise<void> {
      await until('the servers to end', () => ![...servers].some(isAlive));
      child.stdin.end();
      await once(child, 'exit');
      holders.delete(child);
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
