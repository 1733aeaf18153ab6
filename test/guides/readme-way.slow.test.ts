// The README's way from an empty folder to own data behind nginx, in the container's surroundings: nothing but the data's
// folder can be written, and there is no home and no temporary folder.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT, tempFolder } from '../support/files.ts';
import { freePort } from '../support/free-port.ts';
import { ask, json } from '../support/http.ts';
import { codeBlock } from '../support/pages.ts';
import { fillIn } from '../support/printed.ts';
import { skipWithout } from '../support/programs.ts';
import { runNginx } from '../support/proxies.ts';
import { done } from '../support/run.ts';
import { startServer } from '../support/server.ts';
import { linesOf, until } from '../support/stress.ts';

/** From here nginx connects, as the proxy on a machine does from the gateway of the container's network. */
const GATEWAY = '127.0.0.9';
const LIST = '/b/api/username/mira/shots';

describe.skipIf(skipWithout('nginx'))('from an empty folder to own data behind nginx', () => {
  test('ends with a doctor who finds nothing to mend', async () => {
    const env = await containerEnvironment();
    const server = await startServer(env);
    expect([(await ask(server, LIST)).status, (await ask(server, '/readyz')).status]).toEqual([503, 503]);

    expect(await done(['import', '-'], { env, input: ownRecords() })).toMatch(/shots +1 /);
    await until('the server to be ready', async () => (await ask(server, '/readyz')).status === 200);
    expect(json(await ask(server, LIST)).Shots[0].title).toBe('Ferry timetable');

    const front = await freePort();
    const configuration = fillIn(
      await done(['print', 'nginx'], { env }),
      ['/var/cache/vitrine', 'CACHE/vitrine'],
      ['listen 80;', `listen 127.0.0.1:${front};`],
      ['proxy_http_version 1.1;', `proxy_http_version 1.1; proxy_bind ${GATEWAY};`],
    );
    await runNginx(configuration, [front]);
    const report = await done(['doctor', `http://127.0.0.1:${front}/b`, '--user', 'mira'], { env });
    const rest = report.split('\n').filter((line) => line !== '' && !line.startsWith('ok '));
    // What cannot be seen from outside is in the log: nginx is believed.
    expect(rest).toEqual([expect.stringMatching(/^could not tell {2}client address .* only its log shows$/)]);
    const line = await until('its log line', () =>
      linesOf(server).find(({ url }) => url === '/b/api/username/mira'),
    );
    expect(line).toMatchObject({ client: '127.0.0.1', protocol: 'http' });

    expect(await done(['check'], { env })).toContain('is sound');
    expect(await server.stop()).toBe(0);
  });
});

/** The variables of the Dockerfile and of the README's `docker run`, with a folder for the volume and a free port. */
async function containerEnvironment(): Promise<Record<string, string>> {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  const run = codeBlock('README.md', 'On a server', 'sh');
  const variables = [
    ...(/^ENV (.*)$/m.exec(dockerfile)?.[1] ?? '').split(' '),
    ...[...run.matchAll(/ -e (\S+)/g)].map(([, variable = '']) => variable),
  ].map((variable) => variable.split('=') as [string, string]);
  const folder = tempFolder();
  const inContainer = Object.fromEntries(
    variables.map(([name, value]) => [name, value.replace('/data', folder)]),
  );
  expect(inContainer).toMatchObject({ DATABASE_URL: `${folder}/site.db`, SQLITE_TMPDIR: folder });
  const outside = { HOST: '127.0.0.1', PORT: String(await freePort()), TRUST_PROXY: GATEWAY };
  return {
    ...inContainer,
    ...outside,
    RATE_LIMIT: '6000/1m',
    // The default, but a copy outlives all checks of the doctor on a slow machine.
    CACHE_CONTROL: 'public, max-age=120, stale-while-revalidate=30, stale-if-error=86400',
    ACCESS_LOG: 'on',
    HOME: '/nonexistent',
    TMPDIR: '/nonexistent',
  };
}

/** The README's own example. */
const ownRecords = () =>
  /<<'END'\n(.*?)END\n/s.exec(codeBlock('README.md', 'Your own data', 'sh'))?.[1] ?? '';
