// The settings: defaults, precedence of flags over the environment, and rejected values.

import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfig, withoutEffect } from '../../src/config/config.ts';
import { findMediaFolder, findMediaUrl } from '../../src/config/media.ts';
import { bytes, type ConfigError } from '../../src/config/setting-values.ts';
import {
  flagName,
  SETTING_NAMES,
  SETTINGS,
  type SettingName,
  variableName,
} from '../../src/config/settings.ts';
import { VARIANT_NAMES } from '../../src/variants.ts';
import { fixture, ROOT, tempFile } from '../support/files.ts';
import { ask, json } from '../support/http.ts';
import { newPath } from '../support/importing.ts';
import { done } from '../support/run.ts';
import { serveHere } from '../support/serve-here.ts';

type Flags = NonNullable<Parameters<typeof readConfig>[0]>;

function mistakesOf(flags: Flags, environment: Record<string, string> = {}): readonly string[] {
  try {
    readConfig(flags, environment);
    return [];
  } catch (error) {
    return (error as ConfigError).mistakes;
  }
}

test.each<[string | undefined, Flags, string]>([
  ['site.db.media', { databaseUrl: 'site.db' }, 'http://localhost:8080/media'],
  ['/p', { databaseUrl: '/data/site.db', mediaDir: '/p/', port: '80' }, 'http://localhost/media'],
  [undefined, { mediaDir: '/p', baseUrlB: 'https://b.example/b' }, 'https://b.example/media'],
  [undefined, { databaseUrl: 'postgres://x.example/y', mediaUrl: 'https://m.example/' }, 'https://m.example'],
  ['p', { databaseUrl: 'postgres://x.example/y', mediaDir: 'p', port: '81' }, 'http://localhost:81/media'],
])('copies of pictures are in %s with %j, and served under %s', (folder, flags, url) => {
  const config = readConfig(flags);
  expect([findMediaFolder(config), findMediaUrl(config)]).toEqual([folder, url]);
});

test('every setting has a variable, a flag, a description and a valid default', () => {
  for (const name of SETTING_NAMES) {
    const { defaultText, meaning } = SETTINGS[name];
    expect(variableName(name)).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
    expect(flagName(name)).toBe(`--${variableName(name).toLowerCase().replaceAll('_', '-')}`);
    expect(meaning).not.toBe('');
    expect(readConfig({ [name]: defaultText })[name]).toEqual(readConfig()[name]);
    expect(readConfig({}, { [variableName(name)]: defaultText })[name]).toEqual(readConfig()[name]);
  }
});

test('empty or blank text means the default, except for base URLs', () => {
  for (const name of SETTING_NAMES)
    for (const text of ['', '  ']) {
      const expected = name.startsWith('baseUrl') ? undefined : readConfig()[name];
      expect([name, readConfig({ [name]: text })[name]]).toEqual([name, expected]);
    }
});

// Setting, text, value. REFUSED: an error that names the setting and quotes the text.
const REFUSED = Symbol('refused');
/** Texts without spaces may be one text of several words. */
const refusedAll = (name: SettingName, texts: string | readonly string[]) =>
  (typeof texts === 'string' ? texts.split(' ') : texts).map((text) => [name, text, REFUSED] as const);
const VALUES: readonly (readonly [name: SettingName, text: string, value: unknown])[] = [
  ['databaseUrl', 'site.db', 'site.db'],
  ['databaseUrl', '/data/a b.db', '/data/a b.db'],
  ['databaseUrl', 'file:site%20one.db', resolve('site one.db')],
  ['databaseUrl', 'file:/data/a%20b.db', '/data/a b.db'],
  ['databaseUrl', 'FILE://localhost/data/a%20b.db', '/data/a b.db'],
  ['databaseUrl', 'file:../a/site.db', resolve('../a/site.db')],
  ...refusedAll(
    'databaseUrl',
    'file: file://site.db file:a%zz.db file:///a%2Fb.db file:%00 file:site.db?mode=ro',
  ),
  ...refusedAll('databaseUrl', 'mysql://x/y https://x.example/site.db'),
  ['mediaDir', 'pictures/', 'pictures'],
  ['mediaDir', 'file:///data/a%20b', '/data/a b'],
  ...refusedAll('mediaDir', 'https://x.example/media s3://pictures file://host/pictures'),
  ['mediaUrl', 'https://X.example:443/media/', 'https://x.example/media'],
  ...refusedAll('mediaUrl', '/media x.example/media ftp://x.example https:// https://x.example/media?a=b'),
  ...refusedAll('mediaUrl', 'https://x.example/media#a https://x.example/a/../b https://a:b@x.example'),
  ['host', '::', '::'],
  ['host', 'localhost', 'localhost'],
  ...refusedAll('host', '0.0.0.0:80 http://x -x'),
  ...refusedAll('host', ['a b', '../here.sock', '/', '/run/', '/run/a b', `/${'x'.repeat(200)}`]),
  ['port', '65535', 65535],
  ...refusedAll('port', '65536 -1 80.5 0x50 1e3 http ８０'),
  ['siteName', ' Atelier Nord ', 'Atelier Nord'],
  ...refusedAll('siteName', ['x'.repeat(61), '\u200b']),
  ['siteLogo', 'https://a.example/logo.png', { url: 'https://a.example/logo.png' }],
  [
    'siteLogo',
    'src/pages/web/icon.svg',
    { type: 'image/svg+xml', bytes: readFileSync(join(ROOT, 'src/pages/web/icon.svg')) },
  ],
  ...refusedAll('siteLogo', 'package.json missing.svg fixtures'),
  ['accent', '#0C6B5B,#67d3bd', { light: '#0c6b5b', dark: '#67d3bd' }],
  ['accent', '#f4b942', { light: '#f4b942', dark: '#f4b942' }],
  ...refusedAll('accent', 'teal #fff #000000,#ffffff,#000000'),
  ['maxConnections', '1000000', 1_000_000],
  ...refusedAll('maxConnections', '0 1000001 10K 1.0'),
  ['requestTimeout', '500ms', 500],
  ['requestTimeout', '5m', 300_000],
  ['requestTimeout', '24h', 86_400_000],
  ...refusedAll('requestTimeout', ['25h', '10', '1d', '-1s', '1.5s', 's', '10 s']),
  ['maxLoopDelay', '0', 0],
  ['rateLimit', '600/1m', { requests: 600, window: 60_000 }],
  ['rateLimit', '10/30s', { requests: 10, window: 30_000 }],
  ...refusedAll('rateLimit', '600 0/1m 10/10ms 10/0s /1m 1.5/m 10/1d'),
  ['corsOrigin', '*', '*'],
  ['corsOrigin', 'none', []],
  [
    'corsOrigin',
    'https://a.example , http://b.example:8080,',
    ['https://a.example', 'http://b.example:8080'],
  ],
  ...refusedAll('corsOrigin', 'https://a.example"x https://a.example;x a.example https://a.example/'),
  ...refusedAll('corsOrigin', 'https://A.example https://a.example:443 *,https://a.example null'),
  ...refusedAll('mediaUrl', 'https://a.example"x/media https://a.example;x/media'),
  ...refusedAll('baseUrlA', ['https://a.example"x', "https://a.example'/a"]),
  ['trustProxy', '10.0.0.0/8, 127.0.0.1,2001:db8::/32', ['10.0.0.0/8', '127.0.0.1', '2001:db8::/32']],
  ['trustProxy', 'loopback,uniquelocal', ['loopback', 'uniquelocal']],
  ...refusedAll(
    'trustProxy',
    '1 10.0.0.1,1 3232235777 true * proxy.example 10.0.0.0/33 10.0.0 1/8 0x7f000001',
  ),
  ...refusedAll('trustProxy', '010.0.0.1 10.0.0.1:80'),
  ['cacheControl', 'no-cache', 'no-cache'],
  ...refusedAll('cacheControl', 'größer'),
  ...refusedAll('cacheControl', ['no-cache\r\nSet-Cookie: a=b', 'a\tb']),
  ...refusedAll('logLevel', 'loud INFO constructor'),
  ['accessLog', 'on', true],
  ...refusedAll('accessLog', 'true 1 yes'),
];

test.each(VALUES)('%s as %j', (name, text, value) => {
  if (value !== REFUSED) {
    expect(readConfig({ [name]: text })[name]).toEqual(value);
    expect(readConfig({}, { [variableName(name)]: `  ${text} ` })[name]).toEqual(value);
    return;
  }
  for (const [label, mistakes] of [
    [flagName(name), mistakesOf({ [name]: text })],
    [variableName(name), mistakesOf({}, { [variableName(name)]: text })],
  ] as const) {
    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).toContain(`${label} must `);
    if (name !== 'databaseUrl') expect(mistakes[0]).toContain(`not ${JSON.stringify(text)}`);
    expect(mistakes[0]).not.toContain('\n');
  }
});

test('control characters are refused: settings are copied into logs and configurations', () => {
  for (const flags of [
    { databaseUrl: 'site.db\nExecStartPre=/bin/evil' },
    { exampleUsers: 'ada,\u001b[31mbob' },
  ])
    expect(mistakesOf(flags)).toEqual([expect.stringContaining('must not contain control characters')]);
});

describe('DATABASE_URL_FILE', () => {
  const file = tempFile('secret', 'postgres://u:s3cret@host/db\n');
  const SECRET = 'postgres://u:s3cret@host/db';

  test('is read, without the newline at its end; a flag overrides the environment', () => {
    expect(readConfig({}, { DATABASE_URL_FILE: file }).databaseUrl).toBe(SECRET);
    expect(readConfig({ databaseUrlFile: file }).databaseUrl).toBe(SECRET);
    expect(readConfig({}, { DATABASE_URL_FILE: file, DATABASE_URL: '' }).databaseUrl).toBe(SECRET);
    expect(readConfig({}, { DATABASE_URL_FILE: '', DATABASE_URL: 'site.db' }).databaseUrl).toBe('site.db');
    expect(readConfig({ databaseUrl: 'site.db' }, { DATABASE_URL_FILE: file }).databaseUrl).toBe('site.db');
    expect(readConfig({ databaseUrlFile: file }, { DATABASE_URL: 'site.db' }).databaseUrl).toBe(SECRET);
  });

  test('is taken by every command', async () => {
    const path = newPath();
    const env = { DATABASE_URL_FILE: tempFile('url', `${path}\n`) };
    await done(['import', fixture('microblog.ndjson')], { env });
    expect(await done(['check'], { env })).toContain(`${path} is sound`);
    expect((await ask(await serveHere(env), '/a/api/?user=ada')).status).toBe(200);
  });
});

test('NOTIFY_FILE is read as DATABASE_URL_FILE is', () => {
  const file = tempFile('notify', 'https://x.example/s3cret,https://y.example/\n');
  const hrefs = (...settings: Parameters<typeof readConfig>) => readConfig(...settings).notify.map(String);
  const both = ['https://x.example/s3cret', 'https://y.example/'];
  expect(hrefs({}, { NOTIFY_FILE: file })).toEqual(both);
  expect(hrefs({ notifyFile: file }, { NOTIFY: 'https://z.example' })).toEqual(both);
  expect(hrefs({ notify: 'https://z.example' }, { NOTIFY_FILE: file })).toEqual(['https://z.example/']);
  expect(mistakesOf({}, { NOTIFY: 'https://z.example', NOTIFY_FILE: file })).toEqual([
    'NOTIFY and NOTIFY_FILE are both set: give one, and leave the other empty',
  ]);
  const wrong = mistakesOf({}, { NOTIFY_FILE: tempFile('wrong', 'ftp://x.example/s3cret') });
  expect(wrong).toEqual([expect.stringMatching(/^what NOTIFY_FILE holds must be(?!.*s3cret)/)]);
});

test('a flag overrides the environment, and errors name the flag', () => {
  expect(readConfig({ port: '81' }, { PORT: '82' }).port).toBe(81);
  expect(readConfig({}, { PORT: '82' }).port).toBe(82);
  expect(mistakesOf({ port: '81' }, { PORT: 'x' })).toEqual([]);
  expect(mistakesOf({ port: 'x' }, { PORT: '82' })).toEqual([expect.stringContaining('--port must')]);
});

test('a directory of pages that are turned off is refused', () => {
  expect(mistakesOf({ directory: 'on' })).toEqual([]);
  expect(mistakesOf({ directory: 'on', explorer: 'off' })).toHaveLength(1);
});

test.each([
  ['ACCESS_LOG', { accessLog: 'on', logLevel: 'error' }, { accessLog: 'on' }],
  ['RATE_LIMIT_EXEMPT', { rateLimitExempt: 'loopback' }, { rateLimitExempt: 'loopback', rateLimit: '9/1m' }],
  [
    'SNAPSHOT_DIR',
    { snapshotDir: '/backup', databaseUrl: 'postgres://db/site' },
    { snapshotDir: '/backup', databaseUrl: 'site.db' },
  ],
])('%s is named when it has no effect beside other settings', (name, idle, useful) => {
  expect(withoutEffect(readConfig(idle))).toEqual([expect.stringMatching(`${name}.* has no effect$`)]);
  expect(withoutEffect(readConfig(useful))).toEqual([]);
});

test('an access log at the level warn is named, since it has only slow requests', () => {
  const config = readConfig({ accessLog: 'on', logLevel: 'warn' });
  expect(withoutEffect(config)).toEqual([expect.stringContaining('unless they are slow')]);
});

test('unknown variables are ignored', () => {
  expect(readConfig({}, { PATH: '/bin', PORTS: 'x', port: 'x' })).toEqual(readConfig());
});

describe('a server', () => {
  test('listens at the first address of a name, and says which', async () => {
    const server = await serveHere({ HOST: 'localhost', ADMIN_HOST: 'LOCALHOST', ADMIN_PORT: '0' });
    const { address } = await lookup('localhost');
    const { hostname } = new URL(`http://${address.includes(':') ? `[${address}]` : address}`);
    const { adminUrl } = JSON.parse(server.log.find((line) => line.includes('adminUrl')) as string);
    for (const url of [server.url, adminUrl]) {
      expect(new URL(url).hostname).toBe(hostname);
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
    }
  });

  test('without a database serves the sample users, says so, and prints example commands that work', async () => {
    const server = await serveHere();
    const messages = () => server.log.map((line) => JSON.parse(line).msg as string);
    await expect.poll(() => messages().some((msg) => msg.includes('These are sample users'))).toBe(true);
    const tries =
      messages()
        .join('\n')
        .match(/(?<=curl ')http[^']+/g) ?? [];
    expect(tries).toHaveLength(2 * VARIANT_NAMES.length);
    for (const line of tries) {
      expect(line.startsWith(server.url)).toBe(true);
      const reply = await ask(server, line.slice(server.url.length));
      expect([reply.status, Object.keys(json(reply)).length > 0]).toEqual([200, true]);
    }
  });

  test('leaves the settings to the guide in its help, where a command with some of them lists those', async () => {
    const helpOf = async (command: string) => (await done([command, '--help'])).replace(/\s+/g, ' ');
    const help = await helpOf('serve');
    expect(help).toContain('The guide Settings lists them');
    for (const name of SETTING_NAMES) expect(help).not.toContain(`${flagName(name)} <value>`);
    expect(await helpOf('mirror')).toMatch(/--media-dir <value> folder of .*? \[MEDIA_DIR\]/);
  });
});

test('numbers of bytes, of options', () => {
  expect(['65536', '64K', '1mib', '2GB'].map(bytes)).toEqual([65536, 65536, 2 ** 20, 2 ** 31]);
  for (const text of ['-1', '1.5K', '1T', '64 K'])
    expect(() => bytes(text)).toThrow('such as 65536, 64K or 1G');
});

test('vitrine config shows where a database is, without its login, and no secret', async () => {
  const env = {
    DATABASE_URL: 'postgres://owner:s3cret@db.example/site',
    NOTIFY: 'https://hooks.example/s3cret',
    PURGE: 'post:https://purge.example/s3cret',
    PURGE_TOKEN: 's3cret',
  };
  const shown = await done(['config', '--json'], { env });
  expect(shown).toContain('"postgres://…@db.example/site","from":"environment"');
  expect(shown).not.toMatch(/s3cret|owner/);
});
