// Runs the commands of the tutorial in order, in folders of its own. What changes the machine itself (packages, accounts,
// systemd, certificates) is only noted. The server gets the settings of the printed unit, and nginx is real.
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { AUTHORITY, KEY, SIGNED } from '../support/certificates.ts';
import { PROGRAM, ROOT, tempFile, tempFolder } from '../support/files.ts';
import { freePort } from '../support/free-port.ts';
import { ask } from '../support/http.ts';
import { readPage } from '../support/pages.ts';
import { fillIn } from '../support/printed.ts';
import { skipWithout } from '../support/programs.ts';
import { runNginx } from '../support/proxies.ts';
import { startServer } from '../support/server.ts';

const exec = promisify(execFile);

/** What the test writes down instead of running it. */
const NOTED = ['apt-get', 'bash', 'git', 'npm', 'useradd', 'systemctl', 'certbot', 'nginx', 'chmod'];

/** The commands of each part, and the outputs that it shows below them. */
const parts = readPage('src/guides/tutorial.md')
  .split(/^## \d\. /m)
  .slice(1)
  .map((text) => ({
    commands: [...text.matchAll(/^```(sh|console)\n(.*?)^```/gms)].map(([, language, code = '']) =>
      language === 'sh' ? code : [...code.matchAll(/^\$ (.*)$/gm)].map(([, command]) => command).join('\n'),
    ),
    outputs: [...text.matchAll(/^```text\n(.*?)\n```/gms)].map(([, shown = '']) => asPattern(shown)),
  }));

/** In an output that a guide shows, `…` stands for anything. */
function asPattern(shown: string): RegExp {
  const parts = shown.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(parts.join('[^]*'));
}

test.skipIf(skipWithout('nginx') || skipWithout('curl'))(
  'the tutorial ends with an update behind nginx',
  async () => {
    const folder = tempFolder();
    const noted = join(folder, 'noted');
    const [port, http, https] = [await freePort(), await freePort(), await freePort()];
    for (const name of ['units', 'conf.d', 'bin']) mkdirSync(join(folder, name));
    const places: [string, string][] = [
      ['/opt/vitrine', ROOT],
      ['/usr/local/bin', join(folder, 'bin')],
      ['/etc/systemd/system', join(folder, 'units')],
      ['/etc/nginx/conf.d', join(folder, 'conf.d')],
      ['/var/lib/vitrine', join(folder, 'lib')],
      ['/var/backups/vitrine', join(folder, 'backups')],
      ['/srv/export', join(folder, 'export')],
      ['http://127.0.0.1:8080', `http://127.0.0.1:${port}`],
    ];
    const here = (code: string) => places.reduce((text, [from, to]) => text.replaceAll(from, to), code);
    const prelude = [
      `vitrine() { '${process.execPath}' '${PROGRAM}' "$@"; }`,
      'runuser() { shift 3; "$@"; }',
      'install() { shift 5; mkdir -p "$@"; }',
      ...NOTED.map((name) => `${name}() { echo "${name} $*" >> '${noted}'; }`),
      `mkdir -p '${folder}/export' && cd '${folder}/export'`,
    ].join('\n');
    const authority = tempFile('authority.pem', AUTHORITY);
    const run = async (code: string) => {
      const { PATH, HOME } = process.env;
      const env = { PATH, HOME, NODE_EXTRA_CA_CERTS: authority, CURL_CA_BUNDLE: authority };
      const local = here(code).replaceAll(/(?<!Host: )profiles\.example\.org(?=\/)/g, `localhost:${https}`);
      const script = `${prelude}\n${local.replaceAll('profiles.example.org', 'localhost')}`;
      const { stdout } = await exec('bash', ['-ec', script], { cwd: folder, env });
      const there = places.reduce((text, [to, from]) => text.replaceAll(from, to), stdout);
      return there.replaceAll(`localhost:${https}`, 'profiles.example.org');
    };
    /** Commands that print a configuration name the host without a port. */
    const configure = (code: string) =>
      code.replaceAll('https://profiles.example.org/b', 'https://localhost/b');

    const [installing, writing, importing, looking, keeping, fronting, doctoring, updating] = parts.map(
      ({ commands }) => commands,
    );
    const [keepingPrints = [], , doctorPrints = [], updatePrints = []] = parts
      .slice(4)
      .map(({ outputs }) => outputs);
    // The script of NodeSource brings Node, which is here already.
    const withNode = installing?.map((code) => code.replace(/^curl (.*) \| bash -$/m, 'bash $1'));
    for (const code of [...(withNode ?? []), ...(writing ?? []), ...(importing ?? [])]) await run(code);
    expect(looking?.[0]).toBe('vitrine serve --database-url site.db\n');
    const trial = await startServer({ DATABASE_URL: join(folder, 'export/site.db'), PORT: String(port) });
    expect(await run(looking?.[1] ?? '')).toContain('Ferry timetable');
    await trial.stop();

    expect(await run(configure(keeping?.[0] ?? ''))).toMatch(keepingPrints[0] as RegExp);
    const unit = readFileSync(join(folder, 'units/vitrine.service'), 'utf8');
    expect(unit).toContain('ExecStart=/usr/bin/node --disable-sigusr1 /opt/vitrine/');
    const settings = [...unit.matchAll(/^Environment="(\w+)=(.*)"$/gm)].map(([, name, value]) => [
      name,
      value,
    ]);
    const env = {
      ...Object.fromEntries(settings),
      DATABASE_URL: join(folder, 'lib/site.db'),
      PORT: String(port),
    };
    expect(env).toMatchObject({ BASE_URL_B: 'https://localhost/b', TRUST_PROXY: 'loopback' });
    // The default, but a copy outlives all checks of the doctor on a slow machine.
    const server = await startServer({
      ...env,
      CACHE_CONTROL: 'public, max-age=120, stale-while-revalidate=30, stale-if-error=86400',
    });
    expect(await run(keeping?.[1] ?? '')).toMatch(keepingPrints[1] as RegExp);

    await run(configure(fronting?.[0] ?? ''));
    const printed = readFileSync(join(folder, 'conf.d/vitrine.conf'), 'utf8');
    const configuration = fillIn(
      printed.replace(/(ssl_certificate +)\/.*;/, `$1${tempFile('chain.pem', SIGNED)};`),
      ['/var/cache/vitrine', 'CACHE/vitrine'],
      ['listen 80;', `listen 127.0.0.1:${http};`],
      ['listen 443 ssl http2', `listen 127.0.0.1:${https} ssl http2`],
      [/ssl_certificate_key (.*);/.exec(printed)?.[1] ?? '', tempFile('key.pem', KEY)],
      ['server 127.0.0.1:8080 max_fails=0;', `server 127.0.0.1:${port} max_fails=0;`],
    );
    await runNginx(configuration, [https]);

    const printedReport = await run(doctoring?.[0] ?? '');
    expect(printedReport).toMatch(doctorPrints[0] as RegExp);
    const report = printedReport.trim().split('\n');
    expect(report).toHaveLength(20);
    expect(report.filter((line) => !line.startsWith('ok '))).toEqual([
      expect.stringMatching(/^could not tell {2}client address /),
    ]);

    await run(updating?.[0] ?? '');
    expect(await run(updating?.[1] ?? '')).toMatch(updatePrints[0] as RegExp);
    // nginx may have the list of before for some seconds, so the server shows the new title.
    expect(await run(updating?.[2] ?? '')).toContain('Ferry timetable');
    const { body } = await ask(server, '/b/api/username/mira/shots', { headers: { host: 'localhost' } });
    expect(body).toMatch(updatePrints[1] as RegExp);
    expect(readdirSync(join(folder, 'backups'))).toEqual([expect.stringMatching(/^site-.*\.db$/)]);
    expect(readFileSync(noted, 'utf8')).toContain('systemctl enable --now vitrine-import.timer');
  },
);
