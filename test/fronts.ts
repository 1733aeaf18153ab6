// Starts proxies with exactly what `vitrine print` prints for them, in front of servers with these settings.
import { freePort } from './free-port.ts';
import { runNginx } from './nginx-any.ts';
import { fillIn, printed } from './printed.ts';
import { skipWithout } from './programs.ts';
import { startProxy } from './proxies.ts';
import { type Server, tempFile, tempFolder } from './rig.ts';

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
export async function startFront(name: ProxyName, ...servers: Servers): Promise<Front> {
  const port = await freePort();
  await START[name](port, servers);
  return { port };
}

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

function nginx(port: number, servers: Servers): Promise<unknown> {
  const recipe = fillIn(
    printed('nginx', servers[0]),
    ['/var/cache/nginx/vitrine', 'CACHE/vitrine'],
    ['listen 80;', `listen 127.0.0.1:${port};`],
    serverLines('nginx', /^ {4}server \S+ max_fails=0;$/m, servers),
  );
  return runNginx(recipe, [port]);
}

function haproxy(port: number, servers: Servers): Promise<unknown> {
  const recipe = fillIn(
    printed('haproxy', servers[0]),
    ['bind :80\n', `bind 127.0.0.1:${port}\n`],
    serverLines('haproxy', /^ {4}server one .*$/m, servers),
  );
  return startProxy('haproxy', ['-db', '-f', tempFile('haproxy.cfg', recipe)], [port]);
}

function varnish(port: number, [env]: Servers): Promise<unknown> {
  const file = tempFile('default.vcl', printed('varnish', env));
  const listen = ['-F', '-j', 'none', '-n', tempFolder(), '-a', `127.0.0.1:${port}`];
  return startProxy('varnish', [...listen, '-f', file, '-s', 'malloc,64m'], [port]);
}

function caddy(port: number, [env]: Servers): Promise<unknown> {
  const recipe = fillIn(printed('caddy', env), ['profiles.example.org {', `http://127.0.0.1:${port} {`]);
  const file = tempFile('Caddyfile', `{\n\tadmin off\n\tauto_https off\n}\n${recipe}`);
  return startProxy('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], [port]);
}
