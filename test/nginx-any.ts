// Runs nginx with any configuration, including wrong ones.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempFolder } from './files.ts';
import { startProxy } from './proxies.ts';

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
