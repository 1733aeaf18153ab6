// Base URLs: variants under a path, at the root, on their own host, or switched off.
import { afterAll, describe, expect, test } from 'vitest';
import { readConfig } from '../src/config/config.ts';
import type { ConfigError } from '../src/config/setting-values.ts';
import { ask, json, type LocalServer, sendRaw } from './rig.ts';
import { serveHere } from './serve-here.ts';

type Bases = Partial<Record<'BASE_URL_A' | 'BASE_URL_B' | 'BASE_URL_C', string>>;
type Asked = [host: string | undefined, path: string, sees: string];

const PROFILE = 'ada';
const SETUPS: [what: string, bases: Bases, asked: Asked[]][] = [
  [
    'paths of one and of several segments',
    { BASE_URL_A: '/micro', BASE_URL_B: '/v1/folio/', BASE_URL_C: '/v1/folio/c' },
    [
      [undefined, '/micro/api/?user=ada', 'a'],
      [undefined, '/v1/folio/api/username/ada', 'profile'],
      [undefined, '/v1/folio/api/username/ada/shots', 'b'],
      [undefined, '/v1/folio/c/api/username/ada/shots', 'c'],
      [undefined, '/a/api/?user=ada', 'ROUTE_NOT_FOUND'],
      [undefined, '/api/?user=ada', 'ROUTE_NOT_FOUND'],
    ],
  ],
  [
    'hosts, with one path on two of them',
    {
      BASE_URL_A: 'https://Micro.example',
      BASE_URL_B: 'http://folio.example:8443/x',
      BASE_URL_C: 'http://shots.example/x/',
    },
    [
      ['micro.example', '/api/?user=ada', 'a'],
      ['MICRO.EXAMPLE', '/api/?user=ada', 'a'],
      ['micro.example:443', '/api/?user=ada', 'a'],
      ['micro.example:80', '/api/?user=ada', 'a'],
      ['micro.example:8443', '/api/?user=ada', 'ROUTE_NOT_FOUND'],
      ['www.micro.example', '/api/?user=ada', 'ROUTE_NOT_FOUND'],
      ['other.example', '/api/?user=ada', 'ROUTE_NOT_FOUND'],
      ['folio.example:8443', '/x/api/username/ada/shots', 'b'],
      ['Folio.Example:8443', '/x/api/username/ada/shots', 'b'],
      ['folio.example', '/x/api/username/ada/shots', 'ROUTE_NOT_FOUND'],
      ['shots.example', '/x/api/username/ada/shots', 'c'],
      ['shots.example', '/x/api/username/ada', 'profile'],
      ['micro.example', '/x/api/username/ada', 'ROUTE_NOT_FOUND'],
    ],
  ],
  [
    'a host and any host',
    { BASE_URL_A: 'http://[2001:DB8::1]:8080/a', BASE_URL_B: '/x', BASE_URL_C: 'http://127.0.0.1/c' },
    [
      ['[2001:db8::1]:8080', '/a/api/?user=ada', 'a'],
      ['127.0.0.1', '/c/api/username/ada/shots', 'c'],
      ['anything.example', '/x/api/username/ada/shots', 'b'],
      ['127.0.0.1', '/x/api/username/ada/shots', 'b'],
      ['anything.example', '/c/api/username/ada/shots', 'ROUTE_NOT_FOUND'],
    ],
  ],
  [
    'the root, and switched off',
    { BASE_URL_A: '', BASE_URL_B: '', BASE_URL_C: '/' },
    [
      [undefined, '/healthz', 'probe'],
      [undefined, '/a/api/?user=ada', 'ROUTE_NOT_FOUND'],
      [undefined, '/api/?user=ada', 'ROUTE_NOT_FOUND'],
      [undefined, '/b/api/username/ada', 'ROUTE_NOT_FOUND'],
      [undefined, '/api/username/ada/shots', 'c'],
    ],
  ],
];

/** The variant or error code that a body comes from. */
function seen(body: Record<string, unknown>): string {
  if (typeof body.code === 'string') return body.code;
  if (body.status === 'ok') return 'probe';
  if (body.Shots) return 'b';
  if (body.Posts) return 'c';
  if (body.totalPost) return 'a';
  return body.username === PROFILE && body.totalShots ? 'profile' : 'something else';
}

describe.each(SETUPS)('%s', (_, bases, asked) => {
  let server: LocalServer | undefined;
  const started = () => (server ? Promise.resolve(server) : serveHere(bases).then((made) => (server = made)));
  afterAll(() => server?.stop());

  test.each(asked)('%s %s is %s', async (host, path, expected) => {
    const headers: Record<string, string> = host === undefined ? {} : { host };
    expect(seen(json(await ask(await started(), path, { headers })))).toBe(expected);
  });
});

test('the host of an absolute target overrides the Host header', async () => {
  const server = await serveHere({ BASE_URL_A: 'http://micro.example', BASE_URL_B: '', BASE_URL_C: '' });
  const target = (host: string, header: string) =>
    sendRaw(
      server,
      `GET http://${host}/api/?user=ada HTTP/1.1\r\nHost: ${header}\r\nConnection: close\r\n\r\n`,
    );
  expect((await target('micro.example', 'other.example')).map((reply) => reply.status)).toEqual([200]);
  expect((await target('other.example', 'micro.example')).map((reply) => reply.status)).toEqual([404]);
});

/** The errors that `readConfig` reports. */
function mistakesOf(environment: Bases): readonly string[] {
  try {
    readConfig({}, environment);
    return [];
  } catch (error) {
    return (error as ConfigError).mistakes;
  }
}

describe('rejected at start', () => {
  test.each<[Bases, string[]]>([
    [{ BASE_URL_A: '/c/' }, ['BASE_URL_A and BASE_URL_C']],
    [
      { BASE_URL_B: 'http://x.example/b', BASE_URL_C: 'https://X.example:443/b/' },
      ['BASE_URL_B and BASE_URL_C'],
    ],
    [{ BASE_URL_B: 'http://x.example/same', BASE_URL_C: '/same' }, ['BASE_URL_B and BASE_URL_C']],
    [
      { BASE_URL_A: '/b', BASE_URL_C: '/b' },
      ['BASE_URL_A and BASE_URL_B', 'BASE_URL_A and BASE_URL_C', 'BASE_URL_B and BASE_URL_C'],
    ],
    [{ BASE_URL_A: '', BASE_URL_B: '/a' }, []],
    [{ BASE_URL_B: 'http://x.example:81/', BASE_URL_C: 'http://x.example:82/' }, []],
    [{ BASE_URL_B: '/x', BASE_URL_C: '/X' }, []],
  ])('conflicts of %j', (bases, pairs) => {
    expect(mistakesOf(bases)).toEqual(
      pairs.map((pair) => `${pair} claim the same address: give each its own`),
    );
  });

  test('other addresses and paths than those of a base URL', () => {
    const addresses =
      'b ftp://x.example/b http:// http://user:pass@x.example/b http://x.example:99999/'.split(' ');
    const paths = '/b?x /b#x http://x.example/b?x /../b /b/. /b//c //b /b%2f /é /:user /* /b\\c'.split(' ');
    for (const base of [...addresses, ...paths, '/b c', '/b\nc']) {
      const mistakes = mistakesOf({ BASE_URL_B: base });
      expect([base, mistakes]).toEqual([base, [expect.stringContaining(JSON.stringify(base))]]);
      expect(mistakes.join()).toMatch(/^BASE_URL_B must [^\n]+, not "/);
    }
  });
});
