// The lookups as a part of another Fastify app: answers are those of the server, and the app keeps its own.
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { vitrine } from '../../src/server/plugin.ts';
import type { Variant } from '../../src/variants.ts';
import { fixture } from '../support/files.ts';
import { type AskOptions, ask, databaseOf, type LocalServer } from '../support/rig.ts';
import { serveHere } from '../support/serve-here.ts';

const app = Fastify();
let server: LocalServer;
let port: number;
beforeAll(async () => {
  const database = await databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson'));
  server = await serveHere({ DATABASE_URL: database });
  for (const variant of ['a', 'b', 'c'] as Variant[])
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

test('without a prefix it serves the addresses of the specification, and a wrong option is refused', async () => {
  const database = await databaseOf(fixture('portfolio.ndjson'));
  const own = Fastify();
  own.register(vitrine, { database, variant: 'b', cacheControl: 'no-cache' });
  const { statusCode, headers } = await own.inject('/api/username/ada');
  expect([statusCode, headers['cache-control']]).toEqual([200, 'no-cache']);
  await own.close();
  const wrong = Fastify();
  wrong.register(vitrine, { database, variant: 'b', takedownStatus: '418' as '410' });
  await expect(wrong.ready()).rejects.toThrow('--takedown-status');
});
