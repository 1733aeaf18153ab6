// Load from h2load and siege, on the server itself and behind nginx: no request fails.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { startNginx, withoutNginx } from '../nginx.ts';
import { pathOf, skipWithout } from '../programs.ts';
import { type Server, startServer, tempFile, tempFolder } from '../rig.ts';

const CLIENTS = 50;
const REQUESTS = 10_000;
const PATHS = [
  ...[
    '/a/api/?user=ada',
    '/a/api/?user=ada&post=true',
    '/b/api/username/ada',
    '/b/api/username/Zo%C3%AB/shots',
  ],
  ...['/c/api/username/ada/shots', '/openapi.json', '/', '/healthz'],
];

const run = promisify(execFile);
const list = ({ port }: Pick<Server, 'port'>) =>
  tempFile('addresses.txt', PATHS.map((path) => `http://127.0.0.1:${port}${path}\n`).join(''));

const withoutH2load = skipWithout('h2load');
const withoutSiege = skipWithout('siege');

const TARGETS = [
  { where: 'the server itself', behindNginx: false },
  { where: 'behind nginx', behindNginx: true },
].filter(({ behindNginx }) => !(behindNginx && withoutNginx));

describe.each(TARGETS)('$where', ({ behindNginx }) => {
  let target: Pick<Server, 'port'>;
  beforeAll(async () => {
    const server = await startServer();
    target = behindNginx ? await startNginx(server.port) : server;
  });

  test.skipIf(withoutH2load).each([1, 8])(
    'h2load, %i requests at a time on each connection',
    async (inFlight) => {
      const amount = ['-n', String(REQUESTS), '-c', String(CLIENTS), '-m', String(inFlight)];
      const { stdout } = await run(pathOf('h2load'), ['--h1', ...amount, '-i', list(target)]);
      expect(stdout).toContain(`${REQUESTS} succeeded, 0 failed, 0 errored, 0 timeout`);
      expect(stdout).toContain(`status codes: ${REQUESTS} 2xx, 0 3xx, 0 4xx, 0 5xx`);
    },
  );

  test.skipIf(withoutSiege).each(['keep-alive', 'close'])('siege with Connection: %s', async (connection) => {
    // Without `chunked = true`, which Debian's settings have, siege waits for the end of the connection after each
    // chunked answer. nginx sends such answers when it compresses or unpacks.
    const settings = tempFile(
      'siegerc',
      `connection = ${connection}\nprotocol = HTTP/1.1\nparser = false\nchunked = true\n`,
    );
    const amount = ['--concurrent=25', '--reps=100', '--benchmark', '--json-output', '--quiet'];
    const args = [`--rc=${settings}`, ...amount, `--file=${list(target)}`];
    const { stdout } = await run(pathOf('siege'), args, { env: { HOME: tempFolder() } });
    // In a new home it first says where its settings are.
    expect(JSON.parse(stdout.slice(stdout.indexOf('{')))).toMatchObject({
      transactions: 2500,
      successful_transactions: 2500,
      failed_transactions: 0,
      availability: 100,
    });
  });
});
