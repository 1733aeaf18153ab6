// Starts proxies with exactly what `vitrine print` prints for them, in front of servers with these settings.
import { KEY, SIGNED } from './certificates.ts';
import { tempFile } from './files.ts';
import { freePort } from './free-port.ts';
import { fillIn, printed } from './printed.ts';
import { skipWithout } from './programs.ts';
import { runNginx, startProxy } from './proxies.ts';
import type { Server } from './server.ts';

type Env = Record<string, string>;
type Servers = readonly [Env, ...Env[]];
export type Front = Pick<Server, 'port'>;
export type ProxyName = keyof typeof START;

const START = { nginx, caddy };
export const PROXY_NAMES = Object.keys(START) as ProxyName[];
export const withoutProxy = (name: ProxyName) => skipWithout(name);

/** The first settings are those that the configuration is printed from. */
export async function startFront(name: ProxyName, ...servers: Servers): Promise<Front & { tlsPort: number }> {
  const [port, tlsPort] = [await freePort(), await freePort()];
  await START[name](port, tlsPort, servers);
  return { port, tlsPort };
}

/** Caddy as printed, but requests wait for a server however long a slow machine takes to start it. */
export async function startPatientCaddy(env: Env): Promise<Front> {
  const port = await freePort();
  await caddy(port, 0, [env], ['lb_try_duration 5s', 'lb_try_duration 10m']);
  return { port };
}

/** nginx before a server on this port. These directives come before the printed ones. */
export async function startNginx(port: number, env: Env = {}, directives = ''): Promise<Front> {
  const [front, tlsPort] = [await freePort(), await freePort()];
  await nginx(front, tlsPort, [{ ...env, PORT: String(port) }], directives);
  return { port: front };
}

/** The lines of the configuration that name the servers, as printed for each of them. */
function serverLines(servers: readonly Env[]): [found: string, filler: string] {
  const lines = servers.map((env) => /^ {4}server \S+ max_fails=0;$/m.exec(printed('nginx', env))?.[0] ?? '');
  return [lines[0] as string, lines.join('\n')];
}

/** With a certificate for localhost, and on these ports; with PURGE, its cache is in that folder. */
function nginx(port: number, tlsPort: number, servers: Servers, directives = ''): Promise<unknown> {
  const recipe = fillIn(
    printed('nginx', servers[0]).replace(/(ssl_certificate +)\/.*;/, `$1${tempFile('chain.pem', SIGNED)};`),
    ...(servers[0].PURGE === undefined ? ([['/var/cache/vitrine', 'CACHE/vitrine']] as const) : []),
    ['listen 80;', `listen 127.0.0.1:${port};`],
    ['listen 443 ssl http2', `listen 127.0.0.1:${tlsPort} ssl http2`],
    [/ssl_certificate_key (.*);/.exec(printed('nginx', servers[0]))?.[1] ?? '', tempFile('key.pem', KEY)],
    serverLines(servers),
  );
  return runNginx(directives + recipe, [port]);
}

type Fillers = Parameters<typeof fillIn>[1][];

function caddy(port: number, _tlsPort: number, [env]: Servers, ...fillers: Fillers): Promise<unknown> {
  const site = ['profiles.example.org {', `http://127.0.0.1:${port} {`] as const;
  const recipe = fillIn(printed('caddy', env), site, ...fillers);
  const file = tempFile('Caddyfile', `{\n\tadmin off\n\tauto_https off\n}\n${recipe}`);
  return startProxy('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], [port]);
}
