// The hosts that a site can be published for, with exactly the configurations that are written: real web servers, and
// emulators of those that are services.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Miniflare } from 'miniflare';
import { afterAll } from 'vitest';
import { runNginx } from './nginx-any.ts';
import type { ProgramName } from './programs.ts';
import { startProxy } from './proxies.ts';
import { tempFolder } from './rig.ts';

interface PublishedHost {
  /** What must be installed. */
  readonly program?: ProgramName;
  /** A service that runs code: it answers all spellings of a name as the server does. */
  readonly isService: boolean;
  /** Serves `current` of a published folder. */
  readonly start: (current: string, port: number) => Promise<void>;
}

const readIn = (current: string, file: string) => readFileSync(join(current, file), 'utf8');

export const HOSTS: Readonly<Record<string, PublishedHost>> = {
  nginx: { program: 'nginx', isService: false, start: startNginx },
  caddy: { program: 'caddy', isService: false, start: startCaddy },
  apache: { program: 'apache', isService: false, start: startApache },
  cloudflare: { isService: true, start: startWorker },
};

function startNginx(current: string, port: number): Promise<void> {
  const text = readIn(current, 'nginx.conf');
  return runNginx(text.replace('listen 80;', `listen 127.0.0.1:${port};`), [port]);
}

async function startCaddy(current: string, port: number): Promise<void> {
  const config = join(tempFolder(), 'Caddyfile');
  const global = '{\n\tadmin off\n\tauto_https off\n}\n';
  const names = /http:\/\/[a-z.]+\.(?:example|org)(?=,| \{)/g;
  writeFileSync(
    config,
    global +
      readIn(current, 'Caddyfile').replace(
        names,
        (name) => `${name.replace('profiles.example.org', '127.0.0.1')}:${port}`,
      ),
  );
  await startProxy('caddy', ['run', '--config', config, '--adapter', 'caddyfile'], [port]);
}

const APACHE_MODULES = [
  ...['mpm_event', 'authz_core', 'dir', 'mime'],
  ...['negotiation', 'rewrite', 'headers', 'alias'],
];

async function startApache(current: string, port: number): Promise<void> {
  const folder = tempFolder();
  const config = join(folder, 'apache2.conf');
  const load = (name: string) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so\n`;
  writeFileSync(
    config,
    `${APACHE_MODULES.map(load).join('')}
ServerName localhost
ServerRoot ${folder}
PidFile ${folder}/pid
ErrorLog ${folder}/error.log
Listen 127.0.0.1:${port}
TypesConfig /dev/null
AddLanguage en .en
AddEncoding x-gzip .gz
AddHandler type-map .var
<Directory />
  Require all denied
</Directory>
${readIn(current, 'apache.conf').replace('<VirtualHost *:80>', `<VirtualHost 127.0.0.1:${port}>`)}`,
  );
  await startProxy('apache', ['-D', 'FOREGROUND', '-f', config], [port]);
}

const workers: Miniflare[] = [];
afterAll(() => Promise.all(workers.map((worker) => worker.dispose())));

/** Cloudflare's own runtime and service of assets. */
async function startWorker(current: string, port: number): Promise<void> {
  const { main, compatibility_date, assets } = JSON.parse(readIn(current, 'wrangler.json'));
  const { directory, binding, run_worker_first, html_handling, not_found_handling } = assets;
  const worker = new Miniflare({
    ...{ host: '127.0.0.1', port, modules: true, script: readIn(current, main) },
    compatibilityDate: compatibility_date,
    assets: {
      ...{ directory: join(current, directory), binding },
      routerConfig: { has_user_worker: true, invoke_user_worker_ahead_of_assets: run_worker_first },
      assetConfig: { html_handling, not_found_handling },
    },
  });
  workers.push(worker);
  await worker.ready;
}
