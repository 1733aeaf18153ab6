// What `vitrine print` prints is accepted by the programs it is for, under various settings.
import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { SETTING_NAMES, variableName } from '../../../src/config/settings.ts';
import { KEY, SIGNED } from '../../support/certificates.ts';
import { compile } from '../../support/compile.ts';
import { ROOT, tempFile, tempFolder } from '../../support/files.ts';
import { startFront } from '../../support/fronts.ts';
import { printed } from '../../support/printed.ts';
import { pathOf, skipWithout } from '../../support/programs.ts';

const exec = promisify(execFile);

const SETTINGS: Record<string, string>[] = [
  {},
  { HOST: '/run/vitrine/vitrine.sock', ADMIN_PORT: '9090' },
  { HOST: 'localhost', DATABASE_URL: '/srv/my data/100%/site.db' },
  { HOST: '::', PORT: '8181', CORS_ORIGIN: 'none', KEEP_ALIVE_TIMEOUT: '2s' },
  { CORS_ORIGIN: 'https://one.example,http://two.example:81', BASE_URL_B: 'https://folio.example/b' },
  { DATABASE_URL: 'postgres://db.example/vitrine', CACHE_CONTROL: 'public, max-age=1' },
  { DATABASE_URL: '/srv/data/site.db', RATE_LIMIT: '600/1m' },
];

test.skipIf(skipWithout('nginx')).each(SETTINGS)('nginx %j', async (env) => {
  await startFront('nginx', env);
});

/** The main configuration of nginx's own packages and image, in its structure: an account of its own, one folder. */
const OF_NGINX = `user nginx;
worker_processes auto;
error_log /var/log/nginx/error.log notice;
pid /run/nginx.pid;
events {
    worker_connections 1024;
}
http {
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    log_format main '$remote_addr "$request" $status';
    access_log /var/log/nginx/access.log main;
    sendfile on;
    keepalive_timeout 65;
    include /etc/nginx/conf.d/*.conf;
}
`;
/** Its image brings a site on the same port. */
const ITS_SITE = `server {
    listen 80;
    listen [::]:80;
    server_name localhost;
    location / { root /usr/share/nginx/html; }
}
`;

// Nothing is replaced: ports below 1024 and folders of the system are those of a namespace, which only root can make.
const hasNamespaces = process.getuid?.() === 0 && spawnSync('unshare', ['-mn', 'true']).status === 0;
if (hasNamespaces && !skipWithout('nginx'))
  test.each([
    ['Debian', {}],
    ['Debian', { BASE_URL_B: 'https://folio.example/b' }],
    ['its own image', {}],
    ['its own image', { BASE_URL_B: 'https://folio.example/b' }],
  ])('what is printed for nginx loads as it is in nginx of %s, with %j', async (place, env) => {
    const etc = tempFolder();
    cpSync('/etc/nginx', join(etc, 'nginx'), { recursive: true, verbatimSymlinks: true });
    const files: Record<string, string> = {
      passwd: 'root:x:0:0::/:\nwww-data:x:33:33::/:\nnginx:x:101:101::/:\n',
      group: 'root:x:0:\nwww-data:x:33:\nnginx:x:101:\n',
      'nginx/conf.d/vitrine.conf': printed('nginx', env),
      'letsencrypt/live/folio.example/fullchain.pem': SIGNED,
      'letsencrypt/live/folio.example/privkey.pem': KEY,
      ...(place !== 'Debian' && { 'nginx/nginx.conf': OF_NGINX, 'nginx/conf.d/default.conf': ITS_SITE }),
    };
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(etc, name)), { recursive: true });
      writeFileSync(join(etc, name), text);
    }
    const own = ['/var/cache', '/var/log', '/var/lib/nginx', '/run'].map(
      (path) => `mount -t tmpfs own ${path}`,
    );
    const steps = [...own, 'mkdir /var/log/nginx', `mount --bind ${etc} /etc`, `${pathOf('nginx')} -t`];
    const { stderr } = await exec('unshare', ['-mn', 'sh', '-ec', steps.join('\n')]);
    expect(stderr).toContain('test is successful');
  });

test.skipIf(skipWithout('caddy')).each(SETTINGS)('Caddy %j', async (env) => {
  const file = tempFile('Caddyfile', printed('caddy', env));
  await exec(pathOf('caddy'), ['validate', '--adapter', 'caddyfile', '--config', file], {
    env: { HOME: tempFolder() },
  });
});

test.skipIf(skipWithout('systemdAnalyze')).each(SETTINGS)('systemd %j', async (env) => {
  const folder = tempFolder();
  const [, ...units] = printed('systemd', env).split(/^# \/etc\/systemd\/system\/(.*)\n/m);
  const paths: string[] = [];
  for (let at = 0; at < units.length; at += 2) {
    paths.push(join(folder, units[at] as string));
    writeFileSync(paths.at(-1) as string, fillUnit(units[at + 1]));
  }
  expect(paths).toHaveLength(10);
  const { stderr } = await exec(pathOf('systemdAnalyze'), ['verify', ...paths]);
  expect(stderr).toBe('');
});

// TypeScript knows every member of the API, and refuses unknown ones: as `kubectl apply --validate=strict` does.
test('the manifest for Kubernetes fits the types of Kubernetes, and contains its references', async () => {
  const types = join(ROOT, 'node_modules/kubernetes-types');
  const check = async (documents: Resource[]) => {
    const lines = documents.map((document) => {
      const { apiVersion, kind } = document;
      const from = `${types}/${apiVersion === 'v1' ? 'core/v1' : apiVersion.replace('.k8s.io', '')}.d.ts`;
      return `(${JSON.stringify(document)}) satisfies import(${JSON.stringify(from)}).${kind};`;
    });
    const file = tempFile('documents.mts', `${lines.join('\n')}\nexport {};\n`);
    return await compile(dirname(file), [file], '--skipLibCheck', '--types', '');
  };
  const manifest = readFileSync(join(ROOT, 'src/guides/kubernetes.yaml'), 'utf8');
  const documents = parseAllDocuments(manifest).map((document) => document.toJS() as Resource);
  expect(documents.map(({ kind }) => kind)).toEqual(['StatefulSet', 'Service', 'Ingress']);
  expect(await check(documents)).toBe('');
  const [workload] = documents as [Resource];
  expect(await check([{ ...workload, spec: { ...workload.spec, replica: 2 } }])).toContain(
    '\'"replica"\' does not exist',
  );
  const [container] = workload.spec.template.spec.containers;
  const ports = container.ports.map(({ name }: { name: string }) => name);
  const used = [container.readinessProbe.httpGet.port, container.livenessProbe.httpGet.port];
  expect(ports).toEqual(expect.arrayContaining([...used, documents[1]?.spec.ports[0].targetPort]));
  expect(container.volumeMounts[0].name).toBe(workload.spec.volumeClaimTemplates[0].metadata.name);
  expect(SETTING_NAMES.map(variableName)).toEqual(
    expect.arrayContaining(container.env.map(({ name }: { name: string }) => name)),
  );
});

interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  // biome-ignore lint/suspicious/noExplicitAny: the types of Kubernetes check it.
  readonly spec: any;
}

/** The program is installed elsewhere here. */
const fillUnit = (unit = '') => unit.replace('/usr/bin/node', process.execPath);

describe.skipIf(skipWithout('promtool'))('Prometheus', () => {
  test('accepts the rules', async () => {
    const file = tempFile('vitrine.rules.yml', printed('prometheus-rules'));
    expect((await exec(pathOf('promtool'), ['check', 'rules', file])).stdout).toContain('SUCCESS');
  });
});
