// nginx with a file for each response, which is what a static site costs, and nginx as `vitrine print nginx` configures it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fillIn, printed } from '../printed.ts';
import { pathOf } from '../programs.ts';
import { type Process, start } from './processes.ts';

export const startStaticNginx = (folder: string, files: string) =>
  startNginx(
    join(folder, 'nginx-static'),
    (port) => `sendfile on; tcp_nopush on; open_file_cache max=10000;
  default_type "application/json; charset=utf-8"; types { }
  server { listen 127.0.0.1:${port}; root ${files}; }`,
    '/items/user1.json',
  );

let made = 0;

/** In front of Vitrine. */
export function startPrintedNginx(folder: string, { port: upstream }: Process, caches: boolean) {
  const own = join(folder, `nginx-${++made}`);
  return startNginx(
    own,
    (port) =>
      fillIn(
        printed('nginx'),
        ['/var/cache/vitrine', `${own}-cache`],
        ['listen 80;', `listen 127.0.0.1:${port};`],
        ['server 127.0.0.1:8080', `server 127.0.0.1:${upstream}`],
        ['proxy_cache vitrine;', caches ? 'proxy_cache vitrine;' : 'proxy_cache off;'],
      ),
    '/healthz',
  );
}

/** nginx makes these folders; where it would make them by default, only root may. */
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

function startNginx(path: string, http: (port: number) => string, probe: string): Promise<Process> {
  const command = (port: number) => {
    const temporary = TEMPORARY.map((name) => `${name}_temp_path ${path}-${name};`).join(' ');
    writeFileSync(
      `${path}.conf`,
      `daemon off; worker_processes 1; ${process.getuid?.() === 0 ? 'user root;' : ''} pid ${path}.pid; error_log stderr error;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 1000000000; ${temporary} ${http(port)} }`,
    );
    return [pathOf('nginx'), '-c', `${path}.conf`, '-e', 'stderr'];
  };
  return start(command, {}, probe);
}
