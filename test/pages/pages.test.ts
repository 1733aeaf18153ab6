// The explorer's files, the card and the sample pictures over HTTP. Single answers are in fixtures/cases/explorer.txt.

import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Script } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { VARIANT_NAMES, VARIANTS } from '../../src/variants.ts';
import { addRecords, databaseOf } from '../support/database.ts';
import { fixture, ROOT, readRecords, tempFolder } from '../support/files.ts';
import { freePort } from '../support/free-port.ts';
import { ask, json } from '../support/http.ts';
import { blog, folio } from '../support/records.ts';
import { serveHere } from '../support/serve-here.ts';
import type { LocalServer } from '../support/server.ts';

let server: LocalServer;
beforeAll(async () => {
  server = await serveHere();
});

const WEB = join(ROOT, 'src/pages/web');
const scriptsIn = (folder: string) =>
  readdirSync(join(WEB, folder))
    .filter((name) => name.endsWith('.js'))
    .map((name) => `${folder}/${name}`);

const html = async (of: LocalServer = server) => (await ask(of, '/')).body;
const configurationIn = (page: string) =>
  JSON.parse(/<script id="configuration"[^>]*>([^<]*)<\/script>/.exec(page)?.[1] as string);

test('the page may load files of this server only', async () => {
  const { headers, body } = await ask(server, '/');
  expect(headers['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self' 'sha256-BT9v/QBIPy6h6Xsedt3mlWtb2tztdHmBzXc4RISr3Dk='; img-src 'self' data: *; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  expect(body).not.toMatch(/\son\w+=|style=|<style|javascript:/i);
  expect(body.match(/<script(?! id="configuration" type="application\/json")[^>]*>/g)).toEqual([
    expect.stringMatching(/^<script type="module" src="explorer\.[0-9a-f]{12}\.js">$/),
  ]);
  // All addresses are relative, so the page works below any prefix.
  expect(
    [...body.matchAll(/(?:src|href)="([^"]*)"/g)]
      .map(([, address]) => address)
      .filter((address) => /^(\/|[a-z]+:)/.test(address as string)),
  ).toEqual([]);
});

test.each(['/', '/docs'])(
  'every file that %s names is served, and its script imports nothing',
  async (path) => {
    const { body } = await ask(server, path);
    const named = [...body.matchAll(/(?:src|href)="([\w.-]+\.\w+)"/g)].map(([, name]) => `/${name}`);
    expect(named.length).toBeGreaterThan(3);
    for (const name of named) {
      const file = await ask(server, name);
      expect({ name, status: file.status }).toEqual({ name, status: 200 });
      if (!name.endsWith('.js') || name === '/embed.js') continue;
      expect(file.body).not.toMatch(/^(import|export)\b/m);
      // Two modules with a name in common make no script.
      expect(() => new Script(file.body.replaceAll('import.meta', 'meta')), name).not.toThrow();
    }
  },
);

test('scripts and styles are cached for a year under a name with their hash', async () => {
  const listed = async (at: LocalServer) => {
    const bodies = ['/', '/docs', '/people/b/ada', '/people/b/ada/follow'].map(
      async (path) => (await ask(at, path)).body,
    );
    const all = (await Promise.all(bodies)).join();
    return new Set(
      [...all.matchAll(/"(?:\.\.\/)*(\w+\.[0-9a-f]{12}\.(?:css|js))"/g)].map(([, name = '']) => name),
    );
  };
  const names = await listed(server);
  expect([...names].map((name) => name.replace(/\.\w+/, '')).toSorted()).toEqual([
    'docs.css',
    'docs.js',
    'explorer.css',
    'explorer.js',
    'follow.js',
    'person.css',
  ]);
  for (const name of names) {
    const kept = await ask(server, `/${name}`);
    expect(kept.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    // A page that a cache has kept since an older version names another hash, or none.
    for (const other of [name.replace(/[0-9a-f]{12}/, '0123456789ab'), name.replace(/\.[0-9a-f]{12}/, '')]) {
      const current = await ask(server, `/${other}`);
      expect([current.status, current.body, current.headers['cache-control']]).toEqual([
        200,
        kept.body,
        'no-cache',
      ]);
    }
  }
  expect((await ask(server, '/person.X.css')).status).toBe(404);
  // The accent is in the styles.
  const own = await listed(await serveHere({ ACCENT: '#7a1f4d' }));
  expect([...own].filter((name) => names.has(name)).every((name) => name.endsWith('.js'))).toBe(true);
});

test.each([
  ['explorer.js', ['explorer.js', ...scriptsIn('explorer')]],
  ['docs.js', [...scriptsIn('docs'), 'explorer/dom.js', 'explorer/json.js', 'explorer/code-tabs.js']],
])('%s has every function of its modules, once', async (bundle, modules) => {
  const namesIn = (text: string) =>
    [...text.matchAll(/^(?:export )?(?:async )?(?:function|const|let) (\w+)/gm)].map(([, name]) => name);
  const all = modules.flatMap((name) => namesIn(readFileSync(join(WEB, name), 'utf8')));
  const { body } = await ask(server, `/${bundle}`);
  expect(namesIn(body).sort()).toEqual(expect.arrayContaining(all));
  expect(new Set(namesIn(body)).size).toBe(namesIn(body).length);
  expect(body).not.toMatch(/^ *(\/\*\*.*\*\/$|\/\/)/m);
});

test('the lines of "Load your own data" do what they say', async () => {
  const block = /<pre id="own"[^>]*><code>([\s\S]*?)<\/code>/.exec(await html())?.[1] ?? '';
  const lines = block.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&gt;', '>').split('\n');
  const folder = tempFolder();
  await promisify(execFile)('bash', ['-ec', lines[0] ?? ''], { cwd: folder, env: {} });
  const [file = ''] = /(?<=^npm start -- )\S+$/.exec(lines[1] ?? '') ?? [];
  const own = await serveHere({}, [join(folder, file)]);
  expect(json(await ask(own, '/b/api/username/mira')).name).toBe('Mira');
  expect(await html(own)).not.toContain('Load your own data');
});

test('the sample users that the page suggests are in both families', async () => {
  const { people } = configurationIn(await html());
  expect(people.microblog.length).toBeGreaterThan(5);
  expect(people.portfolio).toEqual(people.microblog);
  for (const name of people.microblog)
    for (const base of ['/a/api/?user=', '/b/api/username/'])
      expect({ name, status: (await ask(server, base + encodeURIComponent(name))).status }).toEqual({
        name,
        status: 200,
      });
});

test('the card is small', async () => {
  expect(gzipSync((await ask(server, '/embed.js')).body).length).toBeLessThan(6912);
});

describe('sample pictures', () => {
  test('have the address of this server', async () => {
    const port = await freePort();
    const own = await serveHere({ PORT: String(port) });
    const { avatar } = json(await ask(own, '/b/api/username/ada'));
    expect(avatar).toBe(`http://127.0.0.1:${port}/samples/avatar-ada.svg`);
    expect((await ask(own, new URL(avatar).pathname)).status).toBe(200);
  });

  const PREFIX = 'https://vitrine.example/samples/';
  const named = new Set<string>();
  for (const file of ['microblog.ndjson', 'portfolio.ndjson'])
    for (const value of readRecords(fixture(file)).flatMap((record) => Object.values(record)))
      if (typeof value === 'string' && value.startsWith(PREFIX)) named.add(value.slice(PREFIX.length));

  test('every picture that a sample record names is served', async () => {
    expect(named.size).toBeGreaterThan(500);
    for (const name of named) {
      const { status, headers, body } = await ask(server, `/samples/${name}`);
      expect([name, status, headers['content-type']]).toEqual([name, 200, 'image/svg+xml']);
      expect(headers['content-security-policy']).toBe(
        "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      );
      expect(body).toMatch(/^<svg [^>]*>.*<\/svg>\n$/s);
    }
  });

  test('every file is named by a record, small, and inert', () => {
    const folder = fixture('pictures');
    for (const file of readdirSync(folder)) {
      expect([file, named.has(file)]).toEqual([file, true]);
      const svg = readFileSync(join(folder, file), 'utf8');
      expect(svg.length).toBeLessThan(4096);
      // No script, no event handlers, and no reference to anything outside the file.
      expect(svg).not.toMatch(/<(script|foreignObject|style|a|image)\b|\son\w+=|<!/i);
      for (const [, target] of svg.matchAll(/(?:href=|url\()"?([^")]+)/g)) expect(target).toMatch(/^#\w+$/);
      expect(svg.match(/https?:[^"]+/g)).toEqual(['http://www.w3.org/2000/svg']);
    }
  });
});

interface Operation {
  readonly parameters: readonly { readonly examples?: Record<string, { readonly value: string }> }[];
}

test('the explorer and the OpenAPI document name users of the data, also after an import', async () => {
  const url = await databaseOf(folio(7, 'seven'), folio(3, 'three'));
  const own = await serveHere({ DATABASE_URL: url });
  const namesOn = async () => {
    const { people } = configurationIn(await html(own));
    const { paths } = json(await ask(own, '/openapi.json'));
    const documented = Object.values<{ get: Operation }>(paths).map(({ get }) =>
      Object.values(get.parameters[0]?.examples ?? {}).map(({ value }) => value),
    );
    const lookups = { query: 1, path: 2 };
    const expected = VARIANT_NAMES.map((name) => VARIANTS[name]).flatMap(({ style, family }) =>
      Array(lookups[style]).fill(people[family]),
    );
    expect(documented).toEqual(expected);
    return people;
  };
  expect(await namesOn()).toEqual({ microblog: [], portfolio: ['three', 'seven'] });
  const more = [1, 2, 4, 5, 6].map((id) => folio(id, `new ${id}`));
  await addRecords(url, ...more, blog(1, 'writer'));
  await expect
    .poll(namesOn)
    .toEqual({ microblog: ['writer'], portfolio: ['new 1', 'new 2', 'three', 'new 4', 'new 5'] });
});
