// What the guide from an old site promises about addresses: names from sitemaps, a base URL at the root, and index.php.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { tempFolder } from '../support/files.ts';
import { freePort } from '../support/free-port.ts';
import { ask, json } from '../support/http.ts';
import { startSite } from '../support/mirror-site.ts';
import { codeBlock, section } from '../support/pages.ts';
import { fillIn } from '../support/printed.ts';
import { skipWithout } from '../support/programs.ts';
import { runNginx } from '../support/proxies.ts';
import { done } from '../support/run.ts';
import { serveHere } from '../support/serve-here.ts';

const GUIDE = 'src/guides/moving-in.md';

const place = (path: string) => `<url><loc>https://old.example.org${path}</loc></url>`;
const SITEMAPS: Record<string, string> = {
  '/one/sitemap.xml': ['/people/b/ada', '/people/nikos'].map(place).join(''),
  '/index/sitemap.xml': ['/index/1.xml', '/index/2.xml'].map(place).join('\n'),
  '/index/1.xml': place('/people/ada'),
  '/index/2.xml': place('/people/b/Zo%C3%AB') + place('/about'),
};

test.skipIf(skipWithout('curl')).each([
  ['one', 'ada\nnikos\n', 'ada\nnikos\n'],
  ['index', 'Zo%C3%AB\nada\n', 'Zoë\nada\n'],
])('names are taken from a sitemap that is %s', async (name, names, decoded) => {
  const site = await startSite((request, response) => {
    const text = SITEMAPS[request.url ?? ''];
    response
      .writeHead(text === undefined ? 404 : 200)
      .end(text?.replaceAll('https://old.example.org', site.url));
  });
  const folder = tempFolder();
  const shell = [...section(GUIDE, 'The list of names').matchAll(/^```sh\n(.*?)^```/gms)].map(
    ([, code = '']) => code,
  );
  const code = [shell[1], shell[2]]
    .join('')
    .replace('https://old.example.org', `${site.url}/${name}`)
    .replace(/^node /m, `'${process.execPath}' `);
  await promisify(execFile)('bash', ['-ec', code], {
    cwd: folder,
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
  });
  const written = ['names.txt', 'decoded.txt'].map((file) => readFileSync(join(folder, file), 'utf8').trim());
  expect(written).toEqual([names.trim(), decoded.trim()]);
});

test.skipIf(skipWithout('nginx'))('addresses at the root and with index.php lead to the API', async () => {
  const env = { BASE_URL_A: '/', BASE_URL_B: '', BASE_URL_C: '', TRUST_PROXY: 'loopback' };
  const server = await serveHere(env);
  const list = json(await ask(server, '/api/?user=ada&post=true'));
  expect(list.posts).toHaveLength(15);
  const front = await freePort();
  const printed = await done(['print', 'nginx'], { env: { ...env, PORT: String(server.port) } });
  const rewrite = codeBlock(GUIDE, 'The addresses of the old site', 'nginx');
  const configuration = fillIn(
    printed,
    ['/var/cache/vitrine', 'CACHE/vitrine'],
    ['listen 80;', `listen 127.0.0.1:${front}; ${rewrite}`],
  );
  await runNginx(configuration, [front]);
  for (const address of ['/api/?user=ada&post=true', '/api/index.php?user=ada&post=true'])
    expect(await (await fetch(`http://127.0.0.1:${front}${address}`)).json()).toEqual(list);
});
