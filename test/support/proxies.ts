// Runs proxies as child processes, until the tests of the file are over.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { tempFolder } from './files.ts';
import { dial } from './http.ts';
import { type ProgramName, pathOf } from './programs.ts';
import { until } from './stress.ts';

const running = new Set<ChildProcess>();
afterAll(() => Promise.all([...running].map(endProxy)));

/** Starts a proxy and waits until it listens on all of these ports. */
export async function startProxy(
  program: ProgramName,
  args: readonly string[],
  ports: readonly number[],
): Promise<ChildProcess> {
  const child = spawn(pathOf(program), args, {
    env: { PATH: process.env.PATH, HOME: tempFolder() },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => said.push(String(chunk)));
  const listens = (port: number) =>
    until(`${program} to listen on ${port}`, () =>
      dial({ port }).then(
        (socket) => socket.destroy(),
        () => undefined,
      ),
    );
  await Promise.race([
    once(child, 'exit').then(() => Promise.reject(new Error(`${program} ended:\n${said.join('')}`))),
    Promise.all(ports.map(listens)),
  ]);
  return child;
}

export async function endProxy(child: ChildProcess): Promise<void> {
  running.delete(child);
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

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
  await startProxy('nginx', ['-c', config, '-p', folder, '-e', 'stderr'], ports);
}
