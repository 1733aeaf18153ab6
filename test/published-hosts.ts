// The hosts that a site can be published for, with exactly the configurations that are written: real web servers, and
// emulators of those that are services.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { Miniflare } from 'miniflare';
import { afterAll } from 'vitest';
import { tempFolder } from './files.ts';
import { runNginx } from './nginx-any.ts';
import type { ProgramName } from './programs.ts';
import { startProxy } from './proxies.ts';

interface PublishedHost {
  /** What must be installed. */
  readonly program?: ProgramName;
  /** Whether the errors of unknown users lack headers, and a client's ETag is not compared. */
  readonly isPlain?: boolean;
  /** Services compress as they like; of the emulators, one does. */
  readonly compresses: boolean;
  /** A service that runs code: it answers all spellings of a name as the server does. */
  readonly isService: boolean;
  /** Serves `current` of a published folder. */
  readonly start: (current: string, port: number) => Promise<void>;
}

const readIn = (current: string, file: string) => readFileSync(join(current, file), 'utf8');

export const HOSTS: Readonly<Record<string, PublishedHost>> = {
  nginx: { program: 'nginx', isService: false, compresses: true, start: startNginx },
  caddy: { program: 'caddy', isService: false, compresses: true, start: startCaddy },
  apache: { program: 'apache', isService: false, compresses: true, start: startApache },
  cloudflare: { isService: true, compresses: true, start: startWorker },
  netlify: {
    isService: true,
    compresses: false,
    start: (current, port) => startProgram(current, 'edge-functions/vitrine.js', port),
  },
  s3: { isService: true, isPlain: true, compresses: false, start: startCloudFront },
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

/** A program as Netlify calls it, and Vercel the same one: before they look for a file, and again when it asks for one. */
async function startProgram(current: string, file: string, port: number): Promise<void> {
  const toUs = `const fetch = (url, init) => globalThis.fetch(Object.assign(new URL(url), { host: '127.0.0.1:${port}' }), init);\n`;
  const text = Buffer.from(toUs + readIn(current, file)).toString('base64');
  const { default: run } = await import(/* @vite-ignore */ `data:text/javascript;base64,${text}`);
  const server = createServer(async ({ method = 'GET', url = '', headers }, response) => {
    const request = new Request(`http://${headers.host}${url}`, { method, headers: headers as object });
    const answer: Response = (await run(request)) ?? sendFile(current, new URL(request.url).pathname);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  afterAll(() => server.close());
}

function sendFile(current: string, path: string): Response {
  const file = join(current, 'files', decodeURIComponent(path));
  return existsSync(file) ? new Response(readFileSync(file)) : new Response(null, { status: 404 });
}

type CloudFrontHeaders = Record<string, { readonly value: string }>;

interface Handlers {
  readonly request: (event: object) => {
    readonly uri?: string;
    readonly statusCode?: number;
    readonly headers: CloudFrontHeaders;
    readonly body?: string;
  };
  readonly response: (event: object) => { readonly headers: CloudFrontHeaders };
}

/** The functions as CloudFront calls them, before a bucket of what the script uploads. */
async function startCloudFront(current: string, port: number): Promise<void> {
  const load = (file: string) =>
    runInNewContext(`${readIn(current, file)}\nhandler`, {}) as Handlers[keyof Handlers];
  const handlers = { request: load('request.js'), response: load('response.js') } as Handlers;
  const find = createBucket(current);
  const server = createServer(({ method, url = '', headers }, response) => {
    const [uri = '', query] = url.split(/\?(.*)/s, 2);
    const request = { method, uri, headers: toCloudFront(headers), rawQueryString: () => query };
    const made = handlers.request({ request });
    const send = (status: number, own: CloudFrontHeaders, body: string | Buffer = '') => {
      const plain = Object.entries(own).map(([name, { value }]) => [name, value] as const);
      response.writeHead(status, Object.fromEntries(plain)).end(body);
    };
    if (made.statusCode !== undefined) return send(made.statusCode, made.headers, made.body);
    const found = find(decodeURIComponent((made.uri as string).slice(1)));
    if (found !== undefined)
      return send(200, handlers.response({ request, response: found }).headers, found.body);
    // As the custom error response and the policy that the guide names.
    const missing = find('errors/USER_NOT_FOUND.json');
    send(404, { ...missing?.headers, 'access-control-allow-origin': { value: '*' } }, missing?.body);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  afterAll(() => server.close());
}

const toCloudFront = (headers: IncomingHttpHeaders): CloudFrontHeaders =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, { value: String(value) }]));

/** What the script tells AWS's program to upload, with which headers. */
function createBucket(current: string) {
  const folder = tempFolder();
  const log = join(folder, 'log');
  writeFileSync(join(folder, 'aws'), `#!/bin/sh\nprintf '%s\\t' "$@" >> ${log}\necho >> ${log}\n`, {
    mode: 0o755,
  });
  const path = `${folder}:${process.env.PATH}`;
  const { status, stderr } = spawnSync('sh', [join(current, 'upload.sh'), 's3://site'], {
    env: { PATH: path },
  });
  if (status !== 0) throw new Error(String(stderr));
  const uploads = readFileSync(log, 'utf8')
    .split('\n')
    .map((line) => line.split('\t'));
  const after = (args: readonly string[], flag: string) => args[args.indexOf(flag) + 1] as string;

  return (key: string) => {
    const file = join(current, 'files', key);
    if (!existsSync(file)) return undefined;
    const args = uploads.find((each) => each.includes('--include') && matches(key, after(each, '--include')));
    if (args === undefined) throw new Error(`${key} is not uploaded`);
    const headers: CloudFrontHeaders = {
      'content-type': { value: after(args, '--content-type') },
      'cache-control': { value: after(args, '--cache-control') },
      'x-amz-meta-headers': { value: after(args, '--metadata').replace('headers=', '') },
    };
    return { statusCode: 200, headers, body: readFileSync(file) };
  };
}

/** To AWS's program, a star also stands for slashes. */
const matches = (key: string, pattern: string) =>
  new RegExp(`^${pattern.replace(/[.+]/g, '\\$&').replace('*', '.*')}$`).test(key);
