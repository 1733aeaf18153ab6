// nginx with a file for each response: what a static site would cost.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { versionOf } from './load.ts';
import { type Process, start } from './processes.ts';

/** Undefined where nginx is not installed. */
export async function startNginx(folder: string, files: string): Promise<Process | undefined> {
  if (versionOf('nginx', '-v') === undefined) return undefined;
  const path = join(folder, 'nginx.conf');
  const command = (port: number) => {
    writeFileSync(path, configuration(folder, files, port));
    return ['nginx', '-c', path, '-p', folder, '-e', 'stderr'];
  };
  return start(command, { probe: '/items/user1.json' });
}

/** nginx makes these folders; where it would make them by default, only root may. */
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

const configuration = (folder: string, files: string, port: number) => `
daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr error;
events { worker_connections 1024; }
http {
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;
  default_type "application/json; charset=utf-8"; types { }
  open_file_cache max=10000;
  ${TEMPORARY.map((name) => `${name}_temp_path ${folder}/nginx-${name};`).join(' ')}
  server { listen 127.0.0.1:${port}; root ${files}; }
}`;
