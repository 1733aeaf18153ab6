// A real nginx in front of servers of ours, with the very configuration that README.md gives.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { dial, ROOT, type Server, tempFolder } from './rig.ts';
import { freePort, until } from './stress.ts';

const NGINX = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/bin/nginx'].find(existsSync);
const running = new Set<ChildProcess>();
afterAll(() => Promise.all([...running].map(end)));

/** Whether tests are to be passed over for want of nginx; never where everything has to be there. */
export const withoutNginx = NGINX === undefined && !process.env.CI;
if (withoutNginx)
  console.warn('nginx is not installed: its tests are passed over (apt-get install nginx-light)');

/** The block under "Behind nginx" in README.md. */
export function readmeBlock(): string {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const block = /^#+ Behind nginx$.*?^```nginx\n(.*?)^```/ms.exec(readme)?.[1];
  if (block === undefined) throw new Error('README.md has no ```nginx block under a heading "Behind nginx"');
  return block;
}

/** Starts nginx in front of servers on these ports. */
export async function startNginx(...upstreams: number[]): Promise<Pick<Server, 'port'>> {
  const port = await freePort();
  const folder = tempFolder();
  mkdirSync(join(folder, 'cache'));
  const fillIn = (block: string, [found, filler]: readonly [string, string]) => {
    if (block.split(found).length !== 2)
      throw new Error(`the README's nginx block should have ${found} once`);
    return block.replace(found, filler);
  };
  const upstreamLine = /^ *server 127\.0\.0\.1:8080.*;/m.exec(readmeBlock())?.[0] ?? 'server 127.0.0.1:8080;';
  const block = [
    ['/var/cache/nginx/vitrine', join(folder, 'cache/vitrine')] as const,
    ['listen 80;', `listen 127.0.0.1:${port};`] as const,
    [
      upstreamLine,
      upstreams.map((upstream) => upstreamLine.replace('8080', String(upstream))).join('\n'),
    ] as const,
  ].reduce(fillIn, readmeBlock());
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const config = join(folder, 'nginx.conf');
  writeFileSync(
    config,
    `daemon off;
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr;
events { worker_connections 1024; }
http {
  access_log off;
  ${temporary.join('\n  ')}
  ${block}
}`,
  );
  const child = spawn(NGINX ?? 'nginx', ['-c', config, '-p', folder, '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said: string[] = [];
  child.stderr.on('data', (chunk) => said.push(String(chunk)));
  running.add(child);
  await Promise.race([
    once(child, 'exit').then(() => Promise.reject(new Error(`nginx ended:\n${said.join('')}`))),
    until('nginx to listen', () =>
      dial({ port }).then(
        (socket) => socket.destroy(),
        () => undefined,
      ),
    ),
  ]);
  return { port };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
