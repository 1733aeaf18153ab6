// Runs nginx with any configuration, including wrong ones.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { pathOf } from './programs.ts';
import { dial, tempFolder } from './rig.ts';
import { until } from './stress.ts';

const running = new Set<ChildProcess>();
afterAll(() => Promise.all([...running].map(end)));

/** Starts nginx with this `http` block and waits until it listens on these ports; `CACHE` becomes a folder. */
export async function runNginx(http: string, ports: readonly number[]): Promise<void> {
  const folder = tempFolder();
  mkdirSync(join(folder, 'cache'));
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
  ${http.replaceAll('CACHE', join(folder, 'cache'))}
}`,
  );
  const child = spawn(pathOf('nginx'), ['-c', config, '-p', folder, '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said: string[] = [];
  child.stderr.on('data', (chunk) => said.push(String(chunk)));
  running.add(child);
  const listens = (port: number) =>
    until(`nginx to listen on ${port}`, () =>
      dial({ port }).then(
        (socket) => socket.destroy(),
        () => undefined,
      ),
    );
  await Promise.race([
    once(child, 'exit').then(() => Promise.reject(new Error(`nginx ended:\n${said.join('')}`))),
    Promise.all(ports.map(listens)),
  ]);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
