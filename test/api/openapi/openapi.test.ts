// /openapi.json passes linters, and its addresses are those that are served. It is in fixtures/cases/openapi.txt, responses
// are held against it in requests.test.ts and hostile.test.ts, and a client with types from it is in recipes.slow.test.ts.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ApiDocument } from '../../../src/pages/docs/api-document.ts';
import { GUIDES } from '../../../src/pages/docs/reference-text.ts';
import { STYLES, VARIANTS as TABLE, VARIANT_NAMES } from '../../../src/variants.ts';
import { databaseOf } from '../../support/database.ts';
import { ORDERS, VARIANTS } from '../../support/expected.ts';
import { fixture, ROOT, tempFile } from '../../support/files.ts';
import { ask, json } from '../../support/http.ts';
import { serveHere } from '../../support/serve-here.ts';
import type { LocalServer } from '../../support/server.ts';

const exec = promisify(execFile);

type Document = ApiDocument & { readonly openapi: string };

const documentOf = async (server: LocalServer, host?: string): Promise<Document> =>
  json(await ask(server, '/openapi.json', host === undefined ? {} : { headers: { host } }));
const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  );

let server: LocalServer;
let document: Document;
beforeAll(async () => {
  server = await serveHere();
  document = await documentOf(server);
});

describe('the document', () => {
  test('has each error response once', () => {
    const texts = Object.values(document.components.responses).map((response) => JSON.stringify(response));
    expect(new Set(texts).size).toBe(texts.length);
    for (const { operation } of operationsOf(document))
      for (const [status, response] of Object.entries(operation.responses))
        expect([status, '$ref' in response]).toEqual([status, status !== '200']);
    expect(JSON.stringify(document).length).toBeLessThan(48_000);
  });
});

test.each([
  ['MicroblogProfile', 'microblog profile'],
  ['Post', 'post'],
  ['PortfolioProfile', 'portfolio profile'],
  ['Shot', 'shot'],
] as const)(
  '%s has the fields of the specification, all present, all strings, each with a meaning',
  (name, kind) => {
    const { required, properties = {} } = document.components.schemas[name] ?? {};
    const fields = ORDERS[kind].split(' ');
    expect([Object.keys(properties), required]).toEqual([fields, fields]);
    for (const { type, description } of Object.values(properties))
      expect({ type, description }).toEqual({ type: 'string', description: expect.stringMatching(/^\S.+/) });
  },
);

test.each(VARIANTS)('the list of variant $variant has at most 15 items', ({ variant, collection, item }) => {
  const { properties } = document.components.schemas[`Items${variant.toUpperCase()}`] ?? {};
  const schema = item === 'post' ? 'Post' : 'Shot';
  expect(Object.keys(properties ?? {})).toEqual([collection]);
  expect(properties?.[collection]).toMatchObject({
    maxItems: 15,
    items: { $ref: `#/components/schemas/${schema}` },
  });
});

test.each(['verified', 'status', 'status_general', 'type_account'])(
  "it says of %s what the guide says: its meaning is the site's own",
  (name) => {
    const { schemas } = document.components;
    const texts = Object.values(schemas).flatMap(({ properties }) => properties?.[name]?.description ?? []);
    expect(texts).not.toEqual([]);
    for (const text of texts) expect(text).toMatch(/as the site set it.*; `0` when it set none\.$/);
  },
);

test('it names each address once, as the table of styles has it', () => {
  const addresses = VARIANT_NAMES.flatMap((variant) =>
    Object.values(STYLES[TABLE[variant].style]).map(
      (address) => `/${variant}${address.replace(/\?.*/, '').replace(/:(\w+)/g, '{$1}')}`,
    ),
  );
  expect(addresses).toContain('/a/api/');
  expect(Object.keys(document.paths)).toEqual([...new Set(addresses)]);
});

describe('the reference and its guides as text', () => {
  let text: string;
  beforeAll(async () => {
    text = (await ask(server, '/docs.md')).body;
  });

  test('has every address, parameter, response, member and error, and every section of the guides', async () => {
    const { paths, components } = document;
    const errors = Object.values(components.responses).flatMap(({ content }) =>
      Object.keys(content?.['application/json']?.examples ?? {}),
    );
    const members = Object.values(components.schemas).flatMap(({ properties }) =>
      Object.keys(properties ?? {}),
    );
    for (const name of [...Object.keys(paths), ...errors, ...members]) expect(text).toContain(`\`${name}\``);
    for (const guide of GUIDES)
      for (const [, id = ''] of (await ask(server, `/docs/${guide}`)).body.matchAll(/<section id="(.*?)"/g))
        expect(text.includes(`](http://127.0.0.1:8080/docs/${guide}#${id})`)).toBe(true);
  });

  test('every heading leads to a page that has it, and links are whole addresses', async () => {
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, href = '']) => href);
    expect(links.length).toBeGreaterThan(100);
    for (const href of new Set(links)) {
      // Full addresses, of this server and of others.
      if (!href.startsWith('http://127.0.0.1:8080/') || href.includes('/card/')) {
        expect(href).toMatch(/^https?:\/\//);
        continue;
      }
      const [path, id] = href.split('#');
      const { status, body } = await ask(server, new URL(path as string, server.url).pathname);
      expect([href, status, id === undefined || body.includes(`id="${id}"`)]).toEqual([href, 200, true]);
    }
  });

  test('llms.txt leads to it', async () => {
    const { body } = await ask(server, '/llms.txt');
    expect(body).toMatch(
      /^# Vitrine\n\n> .+\n\n[^#]+\n## Docs\n\n- \[.+\]\(http:\/\/127\.0\.0\.1:\d+\/docs\.md\): /,
    );
  });

  test("operators' guides are not served", async () => {
    for (const guide of ['install', 'running', 'settings'])
      expect([guide, (await ask(server, `/docs/${guide}`)).status]).toEqual([guide, 404]);
    expect(text).not.toMatch(/docs\/(?:install|running|settings)/);
  });

  test('every guide is linked from the reference', async () => {
    const { body } = await ask(server, '/docs');
    for (const guide of GUIDES) expect(body).toContain(`href="docs/${guide}"`);
  });
});

const SETTINGS: { name: string; env: Record<string, string> }[] = [
  { name: 'the default settings', env: {} },
  { name: 'one variant, at the root', env: { BASE_URL_A: '', BASE_URL_B: '/', BASE_URL_C: '' } },
  { name: 'variant A alone', env: { BASE_URL_A: '/x/y', BASE_URL_B: '', BASE_URL_C: '' } },
  {
    name: 'hosts of their own',
    env: {
      BASE_URL_A: 'https://a.test/micro',
      BASE_URL_B: 'https://b.test',
      BASE_URL_C: 'https://c.test:8443',
    },
  },
];

/** A server with these settings, and its document. */
async function documented(env: Record<string, string>) {
  const one = await serveHere(env);
  return { one, told: await documentOf(one) };
}

/** With rules of Spectral's that Redocly knows and does not recommend. */
const RULES = {
  // The specification writes `/api/`, and proxies that validate compare it letter by letter.
  'no-path-trailing-slash': 'off',
  'info-contact': 'error',
  'operation-description': 'error',
  'operation-tag-defined': 'error',
  'parameter-description': 'error',
  'tag-description': 'error',
};

/** What Redocly finds in each document. */
async function lint(documents: Document[]) {
  const files = documents.map((told) => tempFile('openapi.json', JSON.stringify(told)));
  const config = tempFile('redocly.yaml', `extends: [recommended]\nrules: ${JSON.stringify(RULES)}\n`);
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH, HOME, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const cli = join(ROOT, 'node_modules/@redocly/cli/bin/cli.js');
  const args = [cli, 'lint', ...files, '--config', config, '--format', 'json'];
  const { stdout } = await exec(process.execPath, args, { env }).catch((failed) => failed);
  return stdout.split(/(?<=^\})(?=\{)/m).map((text: string) => JSON.parse(text));
}

test("it passes Redocly's recommended rules without warnings, whatever the settings", async () => {
  const media = { name: 'pictures', env: { DATABASE_URL: await databaseOf(fixture('microblog.ndjson')) } };
  const documents = await Promise.all(
    [...SETTINGS, media].map(async ({ env }) => (await documented(env)).told),
  );
  const none = { problems: [], totals: { errors: 0, warnings: 0 } };
  expect(await lint(documents)).toMatchObject(documents.map(() => none));
});

describe.each(SETTINGS)('with $name', ({ env }) => {
  test('its server URLs and paths reach the routes', async () => {
    const { one, told } = await documented(env);
    for (const { path, operation } of operationsOf(told)) {
      const server = operation.servers?.[0]?.url ?? told.servers[0]?.url;
      const url = new URL((server === '.' ? '' : server) + path.replace('{username}', 'ada'), one.url);
      if (operation.parameters.some(({ name }) => name === 'user')) url.searchParams.set('user', 'ada');
      const reply = await ask(one, url.pathname + url.search, { headers: { host: url.host } });
      expect({ href: url.href, status: reply.status }).toEqual({ href: url.href, status: 200 });
    }
  });
});
