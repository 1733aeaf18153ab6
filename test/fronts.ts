// Starts proxies with exactly what `vitrine print` prints for them, in front of servers with these settings.
import { KEY, SIGNED } from './certificates.ts';
import { tempFile, tempFolder } from './files.ts';
import { freePort } from './free-port.ts';
import { runNginx } from './nginx-any.ts';
import { fillIn, printed } from './printed.ts';
import { skipWithout } from './programs.ts';
import { startProxy } from './proxies.ts';
import type { Server } from './rig.ts';

type Env = Record<string, string>;
type Servers = readonly [Env, ...Env[]];
export type Front = Pick<Server, 'port'>;
export type ProxyName = keyof typeof START;

const START = { nginx, haproxy, varnish, caddy };
export const PROXY_NAMES = Object.keys(START) as ProxyName[];
/** Those that have a cache. */
export const CACHES = ['nginx', 'haproxy', 'varnish'] as const;

export const withoutProxy = (name: ProxyName) => skipWithout(name);

/** The first settings are those that the configuration is printed from. */
export async function startFront(name: ProxyName, ...servers: Servers): Promise<Front & { tlsPort: number }> {
  const [port, tlsPort] = [await freePort(), await freePort()];
  await START[name](port, tlsPort, servers);
  return { port, tlsPort };
}

/** nginx before a server on this port. */
export const startNginx = (port: number, env: Env = {}) =>
  startFront('nginx', { ...env, PORT: String(port) });

/** The line of the configuration that names a server, as printed for each of them. */
function serverLines(
  name: ProxyName,
  line: RegExp,
  servers: readonly Env[],
): [found: string, filler: string] {
  const lines = servers.map((env) => line.exec(printed(name, env))?.[0] ?? '');
  return [
    lines[0] as string,
    lines.map((text, nr) => text.replace('server one', `server s${nr}`)).join('\n'),
  ];
}

/** With a certificate for localhost, and on these ports; with PURGE, its cache is in that folder. */
function nginx(port: number, tlsPort: number, servers: Servers): Promise<unknown> {
  const recipe = fillIn(
    printed('nginx', servers[0]).replace(/(ssl_certificate +)\/.*;/, `$1${tempFile('chain.pem', SIGNED)};`),
    ...(servers[0].PURGE === undefined ? ([['/var/cache/vitrine', 'CACHE/vitrine']] as const) : []),
    ['listen 80;', `listen 127.0.0.1:${port};`],
    ['listen 443 ssl http2', `listen 127.0.0.1:${tlsPort} ssl http2`],
    [/ssl_certificate_key (.*);/.exec(printed('nginx', servers[0]))?.[1] ?? '', tempFile('key.pem', KEY)],
    serverLines('nginx', /^ {4}server \S+ max_fails=0;$/m, servers),
  );
  return runNginx(recipe, [port]);
}

function haproxy(port: number, tlsPort: number, servers: Servers): Promise<unknown> {
  const file = haproxyFile(port, tlsPort, servers);
  return startProxy('haproxy', ['-db', '-f', file], [port]);
}

export function haproxyFile(port: number, tlsPort: number, servers: Servers): string {
  const recipe = fillIn(
    printed('haproxy', servers[0]).replace(/crt \S+/, `crt ${tempFile('all.pem', `${SIGNED}\n${KEY}\n`)}`),
    ['bind :80\n', `bind 127.0.0.1:${port}\n`],
    ['bind :443 ', `bind 127.0.0.1:${tlsPort} `],
    serverLines('haproxy', /^ {4}server one .*$/m, servers),
  );
  return tempFile('haproxy.cfg', recipe);
}

function varnish(port: number, _tlsPort: number, [env]: Servers): Promise<unknown> {
  const file = tempFile('default.vcl', printed('varnish', env));
  const listen = ['-F', '-j', 'none', '-n', tempFolder(), '-a', `127.0.0.1:${port}`];
  return startProxy('varnish', [...listen, '-f', file, '-s', 'malloc,64m'], [port]);
}

function caddy(port: number, _tlsPort: number, [env]: Servers): Promise<unknown> {
  const recipe = fillIn(printed('caddy', env), ['profiles.example.org {', `http://127.0.0.1:${port} {`]);
  const file = tempFile('Caddyfile', `{\n\tadmin off\n\tauto_https off\n}\n${recipe}`);
  return startProxy('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], [port]);
}
