// Behind Caddy, with exactly the configuration of the proxy guide.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { codeBlock } from '../pages.ts';
import { pathOf, skipWithout } from '../programs.ts';
import { ask, json, run, type Server, startServer, tempFolder } from '../rig.ts';
import { freePort, startLoad, until } from '../stress.ts';

const ADA = '/b/api/username/ada';
const GLOBAL = '{\n\tadmin off\n\tauto_https off\n}\n';

describe.skipIf(skipWithout('caddy'))('Caddy', () => {
  let caddy: ChildProcess;
  let server: Server;
  let front: Pick<Server, 'port'>;
  let env: Record<string, string>;

  beforeAll(async () => {
    const [port, adminPort] = [await freePort(), await freePort()];
    env = { PORT: String(port), ADMIN_PORT: String(adminPort), TRUST_PROXY: 'loopback' };
    server = await startServer(env);
    front = { port: await freePort() };
    caddy = startCaddy(front.port, port, adminPort);
    await until('Caddy to pass requests on', () => statusOf(ADA).then((status) => status === 200));
  });
  afterAll(async () => {
    if (caddy.exitCode !== null) return;
    caddy.kill('SIGTERM');
    await once(caddy, 'exit');
  });

  const statusOf = (path: string) =>
    ask(front, path).then(
      ({ status }) => status,
      () => undefined,
    );

  test('as configured in the guide, nothing is broken', async () => {
    const { code, stdout } = await run(['doctor', `http://127.0.0.1:${front.port}/b`, '--user', 'ada']);
    expect(stdout).not.toMatch(/^broken/m);
    expect(code).toBe(0);
  });

  test('a restart of its only server fails no request', async () => {
    const load = startLoad(front, [ADA], (_, { status }) => (status === 200 ? undefined : String(status)), 4);
    const before = load.answered();
    await until('the first responses', () => load.answered() > before + 20);
    await server.stop();
    server = await startServer(env);
    const after = load.answered();
    await until('responses after the restart', () => load.answered() > after + 20);
    expect(await load.stop()).toEqual([]);
  });

  test('with every server down, the error is JSON that pages of any origin can read', async () => {
    await server.stop();
    const reply = await ask(front, `${ADA}.html`);
    expect([reply.status, json(reply)]).toEqual([
      503,
      {
        statusCode: '503',
        code: 'NOT_READY',
        error: 'Service Unavailable',
        message: expect.stringMatching(/\.$/),
      },
    ]);
    expect(reply.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'access-control-allow-origin': '*',
      'cache-control': 'no-store',
      'retry-after': '1',
    });
  });
});

function startCaddy(front: number, port: number, adminPort: number): ChildProcess {
  const folder = tempFolder();
  const recipe = codeBlock('src/guides/proxies.md', 'Caddy', 'caddy')
    .replace('profiles.example.org {', `http://127.0.0.1:${front} {`)
    .replace('127.0.0.1:8080', `127.0.0.1:${port}`)
    .replace('health_port 9090', `health_port ${adminPort}`);
  const file = join(folder, 'Caddyfile');
  writeFileSync(file, GLOBAL + recipe);
  return spawn(pathOf('caddy'), ['run', '--config', file, '--adapter', 'caddyfile'], {
    env: { HOME: folder },
    stdio: 'ignore',
  });
}
