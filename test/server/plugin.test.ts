// The lookups as a part of another Fastify app: answers are those of the server, and the app keeps its own.

import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { Ajv } from 'ajv';
import Fastify, { type FastifyInstance, type FastifyServerOptions, type InjectOptions } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type VitrineOptions, vitrine } from '../../src/server/plugin.ts';
import { VARIANT_NAMES } from '../../src/variants.ts';
import { atEnd } from '../support/at-end.ts';
import { databaseOf } from '../support/database.ts';
import { fixture } from '../support/files.ts';
import { type AskOptions, ask } from '../support/http.ts';
import { serveHere } from '../support/serve-here.ts';
import type { LocalServer } from '../support/server.ts';

const app = Fastify();
let server: LocalServer;
let port: number;
beforeAll(async () => {
  const database = await databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson'));
  server = await serveHere({ DATABASE_URL: database });
  for (const variant of VARIANT_NAMES)
    app.register(vitrine, { database, variant, prefix: `/${variant}/api` });
  app.get('/own', async (request) => ({ own: request.query }));
  app.post('/own', async () => ({ own: true }));
  port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
});
afterAll(() => app.close());

describe('an answer is that of the server', () => {
  test.each<[path: string, options?: AskOptions]>([
    ['/a/api/?user=ada'],
    ['/a/api?user=ada&post=true'],
    ['/a/api/?user=ada&user=ben'],
    ['/a/api/?user=%zz'],
    ['/a/api/?user=ada&post=1'],
    ['/a/api/'],
    ['/b/api/username/ada'],
    ['/b/api/username/ADA/shots'],
    ['/b/api/username/ada/shots', { headers: { 'accept-encoding': 'gzip' } }],
    ['/b/api/username/ada/shots', { headers: { 'if-none-match': '*' } }],
    ['/b/api/username/ada', { method: 'HEAD' }],
    ['/b/api/username/ada', { method: 'POST' }],
    ['/b/api/username/ada', { method: 'OPTIONS' }],
    ['/b/api/username/'],
    ['/b/api/nothing'],
    ['/c/api/username/ada/shots'],
    ['/c/api/username/nobody'],
  ])('%s %j', async (path, options) => {
    const [own, expected] = await Promise.all([ask({ port }, path, options), ask(server, path, options)]);
    const comparable = ({ status, headers: { date: _, ...headers }, body }: typeof own) => ({
      status,
      body,
      // Timeouts of connections are the app's own.
      headers: { ...headers, 'keep-alive': undefined },
    });
    expect(comparable(own)).toEqual(comparable(expected));
  });
});

test('the app keeps its own routes, queries and errors', async () => {
  expect((await app.inject('/own?a=1&a=2')).json()).toEqual({ own: { a: ['1', '2'] } });
  expect((await app.inject({ method: 'POST', url: '/own' })).json()).toEqual({ own: true });
  expect((await app.inject('/nothing')).json()).toMatchObject({ message: 'Route GET:/nothing not found' });
});

describe('a good guest', () => {
  let database: string;
  beforeAll(async () => {
    database = await databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson'));
  });

  /** An app with a policy of its own, as @fastify/helmet and @fastify/cors set it: in `onRequest`, on the reply. */
  function hostApp(options: FastifyServerOptions = {}) {
    const host = Fastify(options);
    host.addHook('onRequest', async (_request, reply) => {
      reply.headers({
        'access-control-allow-origin': 'https://app.example',
        'content-security-policy': "default-src 'self'",
        'cache-control': 'private',
        vary: 'Origin',
      });
    });
    host.addHook('onSend', async (_request, reply, payload) => {
      reply.header('x-sent', 'yes');
      return payload;
    });
    atEnd(() => host.close());
    return host;
  }

  test.each<[status: number, url: string, options?: InjectOptions]>([
    [200, '/b/username/ada'],
    [200, '/b/username/ada/shots'],
    [200, '/b/username/ada/shots', { headers: { 'accept-encoding': 'gzip' } }],
    [200, '/b/username/ada', { method: 'HEAD' }],
    [304, '/b/username/ada', { headers: { 'if-none-match': '*' } }],
    [200, '/a/?user=ada&post=true'],
    [304, '/a/?user=ada', { headers: { 'if-none-match': '*' } }],
    [304, '/a/?user=ada', { method: 'HEAD', headers: { 'if-none-match': '*' } }],
    [400, '/a/'],
    [404, '/b/username/nobody'],
    [404, '/b/nothing'],
    [405, '/b/username/ada', { method: 'POST' }],
  ])('%i %s %j has the headers of the app', async (status, url, options = {}) => {
    const host = hostApp();
    for (const variant of ['a', 'b'] as const)
      host.register(vitrine, { database, variant, prefix: `/${variant}` });
    const { statusCode, headers } = await host.inject({ url, ...options });
    expect(statusCode).toBe(status);
    expect(headers).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'content-security-policy': "default-src 'self'",
      'x-content-type-options': 'nosniff',
      'x-sent': 'yes',
    });
    expect(headers.vary).toMatch(/\bOrigin\b/);
    if (status === 304) expect(headers).not.toHaveProperty('content-length');
    // Of an error, only the plugin knows how long it may be kept.
    const ofErrors = status === 404 ? 'max-age=5, stale-while-revalidate=0' : 'no-store';
    expect(headers['cache-control']).toBe(status < 400 ? 'private' : ofErrors);
    if (status < 400) expect(headers.vary).toContain('Accept-Encoding');
  });

  test('a hook of the app that takes long sends each response once', async () => {
    const host = hostApp();
    let calls = 0;
    host.addHook('onSend', async (_request, _reply, payload) => {
      calls++;
      if (payload !== undefined) await delay(20);
      return payload;
    });
    host.register(vitrine, { database, variant: 'b', prefix: '/b' });
    for (const [url, expected] of [
      ['/b/username/ada', { username: 'ada' }],
      ['/b/username/nobody', { code: 'USER_NOT_FOUND' }],
    ] as const) {
      calls = 0;
      expect((await host.inject(url)).json()).toMatchObject(expected);
      await delay(50);
      expect(calls).toBe(1);
    }
  });

  test('a list of origins leaves the `Vary` of the app as it is', async () => {
    const host = Fastify();
    host.addHook('onRequest', async (_request, reply) => void reply.header('vary', 'Cookie'));
    host.register(vitrine, { database, variant: 'b', prefix: '/b', corsOrigin: 'https://app.example' });
    for (const path of ['username/ada', 'username/nobody']) {
      const { vary } = (await host.inject(`/b/${path}`)).headers;
      expect(String(vary).split(', ')).toEqual(expect.arrayContaining(['Cookie', 'Origin']));
    }
    await host.close();
  });

  test('hooks of the app refuse requests in its own words', async () => {
    const host = hostApp();
    host.addHook('onRequest', async (request, reply) => {
      if (request.headers.authorization === undefined) return reply.code(401).send({ own: 'sign in' });
      // As @fastify/rate-limit does.
      throw Object.assign(new Error('slow down'), { statusCode: 429 });
    });
    host.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) =>
      reply.code(error.statusCode ?? 500).send({ own: error.message }),
    );
    host.register(vitrine, { database, variant: 'b', prefix: '/b' });
    for (const url of ['/b/username/ada', '/b/nothing']) {
      const refused = await host.inject(url);
      expect([refused.statusCode, refused.json()]).toEqual([401, { own: 'sign in' }]);
      const limited = await host.inject({ url, headers: { authorization: 'x' } });
      expect([limited.statusCode, limited.json()]).toEqual([429, { own: 'slow down' }]);
    }
  });

  test('without an error handler of its own, the app says what its hooks threw', async () => {
    const host = Fastify();
    host.addHook('onRequest', async () => {
      throw Object.assign(new Error('slow down'), { statusCode: 429, code: 'SLOW' });
    });
    host.register(vitrine, { database, variant: 'b', prefix: '/b' });
    for (const url of ['/b/username/ada', '/b/nothing'])
      expect((await host.inject(url)).json()).toEqual({
        statusCode: 429,
        code: 'SLOW',
        error: 'Too Many Requests',
        message: 'slow down',
      });
    await host.close();
  });

  /** As @fastify/cors is registered, for one origin. */
  const cors = Object.assign(
    async (app: FastifyInstance) => {
      app.addHook('onRequest', async ({ headers: { origin } }, reply) => {
        reply.header('vary', 'Origin');
        if (origin === 'https://one.example') reply.header('access-control-allow-origin', origin);
      });
    },
    {
      [Symbol.for('skip-override')]: true,
      [Symbol.for('plugin-meta')]: { name: '@fastify/cors' },
    },
  );

  test('CORS is left to the app if it has @fastify/cors, unless `corsOrigin` is set', async () => {
    const host = Fastify();
    await host.register(cors);
    host.register(vitrine, { database, variant: 'b', prefix: '/own' });
    host.register(vitrine, { database, variant: 'b', prefix: '/set', corsOrigin: '*' });
    for (const path of ['username/ada', 'username/nobody', 'nothing']) {
      expect((await host.inject(`/own/${path}`)).headers).not.toHaveProperty('access-control-allow-origin');
      expect((await host.inject(`/set/${path}`)).headers['access-control-allow-origin']).toBe('*');
    }
    await host.close();
  });

  test.each(['before', 'after'])(
    '@fastify/cors that is registered %s Vitrine decides who may read',
    async (order) => {
      const lines: string[] = [];
      const host = Fastify({ logger: { level: 'warn', stream: { write: (line) => void lines.push(line) } } });
      if (order === 'before') host.register(cors);
      // In a context of its own as well.
      host.register(async (part) => void part.register(vitrine, { database, variant: 'b', prefix: '/own' }));
      host.register(vitrine, { database, variant: 'c', prefix: '/set', corsOrigin: '*' });
      if (order === 'after') host.register(cors);
      for (const path of ['username/ada', 'username/nobody', 'nothing']) {
        const allowed = async (origin: string, base: string) =>
          (await host.inject({ url: `${base}/${path}`, headers: { origin } })).headers[
            'access-control-allow-origin'
          ];
        expect(await allowed('https://one.example', '/own')).toBe('https://one.example');
        expect(await allowed('https://other.example', '/own')).toBe(undefined);
        expect(await allowed('https://other.example', '/set')).toBe('*');
      }
      await host.close();
      expect(lines).toEqual([]);
    },
  );

  test.each<[way: string, plugin: () => unknown]>([
    ['import()', () => import('../../src/server/plugin.ts')],
    ['what import() gives', async () => await import('../../src/server/plugin.ts')],
    ['its default', async () => (await import('../../src/server/plugin.ts')).default],
    ['what require() gives', () => createRequire(import.meta.url)('../../src/server/plugin.ts')],
  ])('an app may register %s', async (way, plugin) => {
    const host = hostApp();
    const given = way === 'import()' ? plugin() : await plugin();
    host.register(given as typeof vitrine, { database, variant: 'b', prefix: '/b' });
    expect((await host.inject('/b/username/ada')).statusCode).toBe(200);
  });

  test('response schemas are plain JSON Schema: a strict compiler takes those of all variants', async () => {
    const host = hostApp();
    const compiled: string[] = [];
    const ajv = new Ajv({ strict: true });
    host.addHook('onRoute', ({ url, method, schema }) => {
      for (const [status, body] of Object.entries(schema?.response ?? {})) {
        // Routes for HEAD have the schemas of GET, and Ajv knows them.
        if (method === 'HEAD') continue;
        ajv.compile(body as object);
        compiled.push(`${url} ${status}`);
      }
    });
    for (const variant of VARIANT_NAMES) host.register(vitrine, { database, variant, prefix: `/${variant}` });
    await host.ready();
    expect(compiled).toEqual(
      expect.arrayContaining(['/a/ 200', '/b/username/:username/shots 200', '/c/username/ 400']),
    );
  });

  test.each<FastifyServerOptions['routerOptions']>([
    { ignoreTrailingSlash: true },
    { ignoreDuplicateSlashes: true },
    { caseSensitive: false },
  ])('an app with %j', async (routerOptions) => {
    const host = hostApp({ routerOptions: { ...routerOptions, maxParamLength: 3000 } });
    for (const variant of ['a', 'b'] as const)
      host.register(vitrine, { database, variant, prefix: `/${variant}` });
    const statuses = ['/a?user=ada', '/a/?user=ada', '/b/username/ada', '/b/username', '/b/username/'];
    const found = await Promise.all(statuses.map((url) => host.inject(url)));
    expect(found.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 400, 400]);
  });

  test.each<[options: Record<string, unknown>, sentence: string]>([
    [{ variant: 'b' }, 'vitrine: the option `database` must name a SQLite file or a postgres:// address'],
    [{ databse: 'site.db', variant: 'b' }, 'vitrine: there is no option `databse`: did you mean `database`?'],
    [{ database: 'x' }, `vitrine: the option \`variant\` must be ${VARIANT_NAMES.join(', ')}, not undefined`],
    [
      { database: 'x', variant: 'z' },
      `vitrine: the option \`variant\` must be ${VARIANT_NAMES.join(', ')}, not z`,
    ],
    [
      { database: 'x', variant: 'b', takedownStatus: '418' },
      'vitrine: the option `takedownStatus` must be one of 404, 410, not "418"',
    ],
    [
      { database: 'x', variant: 'b', takedownStatus: 410 },
      'vitrine: the option `takedownStatus` must be a string',
    ],
  ])('options %j are refused', async (options, sentence) => {
    const host = Fastify();
    host.register(vitrine, options as unknown as VitrineOptions);
    await expect(host.ready()).rejects.toThrow(sentence);
  });

  test('an app of an older Fastify is refused', () => {
    const host = hostApp();
    Object.defineProperty(host, 'version', { value: '4.29.1' });
    host.register(vitrine, { database, variant: 'b' });
    return expect(host.ready()).rejects.toThrow("vitrine - expected '5.x || 6.x' fastify version, '4.29.1'");
  });

  test('the options of every plugin, and of others, are no mistake', async () => {
    const host = Fastify();
    // @fastify/autoload hands the options that plugins share to each of them.
    const others: object = { mailer: 'x', logger: true, encapsulate: true };
    const own = { database, variant: 'b', prefix: '/b', logLevel: 'silent', logSerializers: {} } as const;
    host.register(vitrine, { ...own, ...others });
    await host.ready();
    await host.close();
  });
});

test('without a prefix it serves the addresses of the specification', async () => {
  const database = await databaseOf(fixture('portfolio.ndjson'));
  const own = Fastify();
  own.register(vitrine, { database, variant: 'b', cacheControl: 'no-cache' });
  const { statusCode, headers } = await own.inject('/api/username/ada');
  expect([statusCode, headers['cache-control']]).toEqual([200, 'no-cache']);
  await own.close();
});
