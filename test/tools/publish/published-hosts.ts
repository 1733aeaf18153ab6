// The hosts that a site can be published for, with exactly the configurations that are written: real web servers, and
// emulators of those that are services.
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Miniflare } from 'miniflare';
import { afterAll } from 'vitest';
import type { ProgramName } from '../../support/programs.ts';
import { runNginx } from '../../support/proxies.ts';

interface PublishedHost {
  /** What must be installed. */
  readonly program?: ProgramName;
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
  cloudflare: { isService: true, compresses: true, start: startWorker },
  netlify: { isService: true, compresses: false, start: startNetlify },
};

function startNginx(current: string, port: number): Promise<void> {
  const text = readIn(current, 'nginx.conf');
  return runNginx(text.replace(/listen \d+;/, `listen 127.0.0.1:${port};`), [port]);
}

const workers: Miniflare[] = [];
afterAll(() => Promise.all(workers.map((worker) => worker.dispose())));

/** Cloudflare's own runtime and service of assets. */
async function startWorker(current: string, port: number): Promise<void> {
  const { main, compatibility_date, assets } = JSON.parse(readIn(current, 'wrangler.json'));
  const { directory, binding, run_worker_first, html_handling, not_found_handling } = assets;
  const worker = new Miniflare({
    host: '127.0.0.1',
    port,
    modules: true,
    script: readIn(current, main),
    compatibilityDate: compatibility_date,
    assets: {
      directory: join(current, directory),
      binding,
      routerConfig: { has_user_worker: true, invoke_user_worker_ahead_of_assets: run_worker_first },
      assetConfig: { html_handling, not_found_handling },
    },
  });
  workers.push(worker);
  await worker.ready;
}

/** The program as Netlify calls it: before it looks for a file, and again when the program asks for one. */
async function startNetlify(current: string, port: number): Promise<void> {
  const toUs = `const fetch = (url, init) => globalThis.fetch(Object.assign(new URL(url), { host: '127.0.0.1:${port}' }), init);\n`;
  const text = Buffer.from(toUs + readIn(current, 'edge-functions/vitrine.js')).toString('base64');
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
