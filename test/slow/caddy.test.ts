// Behind Caddy, with exactly the configuration that `vitrine print caddy` prints.
import { beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../free-port.ts';
import { fillIn, printed, UNAVAILABLE } from '../printed.ts';
import { skipWithout } from '../programs.ts';
import { startProxy } from '../proxies.ts';
import { ask, json, run, type Server, startServer, tempFile } from '../rig.ts';
import { startLoad, until } from '../stress.ts';

const ADA = '/b/api/username/ada';
const GLOBAL = '{\n\tadmin off\n\tauto_https off\n}\n';

describe.skipIf(skipWithout('caddy'))('Caddy', () => {
  let server: Server;
  let front: Pick<Server, 'port'>;
  let env: Record<string, string>;

  beforeAll(async () => {
    const [port, adminPort] = [await freePort(), await freePort()];
    env = { PORT: String(port), ADMIN_PORT: String(adminPort), TRUST_PROXY: 'loopback' };
    server = await startServer(env);
    front = { port: await freePort() };
    await startCaddy(front.port, env);
    await until('Caddy to pass requests on', () => statusOf(ADA).then((status) => status === 200));
  });

  const statusOf = (path: string) =>
    ask(front, path).then(
      ({ status }) => status,
      () => undefined,
    );

  test('as printed, nothing is broken', async () => {
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
    expect([reply.status, json(reply)]).toEqual([503, UNAVAILABLE.body(503, 'Service Unavailable')]);
    expect(reply.headers).toMatchObject(UNAVAILABLE.headers);
  });
});

/** The health checks are those of the printed configuration. */
function startCaddy(front: number, env: Record<string, string>): Promise<unknown> {
  const recipe = fillIn(printed('caddy', env), ['profiles.example.org {', `http://127.0.0.1:${front} {`]);
  const file = tempFile('Caddyfile', GLOBAL + recipe);
  return startProxy('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], [front]);
}
