// A variant is one row of the table, and a style is one file and one row: both show up in routes, settings, OpenAPI, pages,
// imports, mirror and doctor.
import '../support/more-variants.ts';
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { beforeAll, expect, test } from 'vitest';
import { ROUTE_PLUGINS } from '../../src/api/api.ts';
import {
  answerLookup,
  createLookups,
  lookupResponses,
  type VariantOptions,
  variantBodies,
} from '../../src/api/lookup.ts';
import { readConfig } from '../../src/config/config.ts';
import { UserName } from '../../src/records/user-name.ts';
import { startServer } from '../../src/server/serve.ts';
import { createLog } from '../../src/server/telemetry/log.ts';
import { databaseOf } from '../support/database.ts';
import { fixture, tempFile } from '../support/files.ts';
import { ask, json } from '../support/http.ts';
import { exported, newPath } from '../support/importing.ts';
import { mirror } from '../support/mirror-site.ts';
import { done, run } from '../support/run.ts';

/** The file of the new style. */
const shortStyle: FastifyPluginCallbackTypebox<VariantOptions> = (app, options, done) => {
  const lookups = createLookups(options);
  const { operations } = lookups;
  const { Profile, Items } = variantBodies(options.variant);
  const route = (operation: 'profile' | 'items') => ({
    config: { operation: operations[operation] },
    schema: {
      operationId: `${operation}${options.variant}`,
      params: Type.Object({ username: UserName }),
      response: lookupResponses(options, operation === 'profile' ? Profile : Items),
    },
  });
  app.get('/u/:username', route('profile'), (request, reply) =>
    answerLookup(lookups, 'profile', request, reply, request.params.username),
  );
  app.get('/u/:username/all', route('items'), (request, reply) =>
    answerLookup(lookups, 'items', request, reply, request.params.username),
  );
  done();
};

let url: string;
const at = () => ({ port: Number(new URL(url).port) });
beforeAll(async () => {
  Object.assign(ROUTE_PLUGINS, { short: shortStyle, works: ROUTE_PLUGINS.path });
  const databaseUrl = await databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson'));
  const config = readConfig({ port: '0', databaseUrl, logLevel: 'silent' });
  const running = await startServer(config, createLog(config, { write() {} }));
  url = running.url;
  return () => running.stop();
});

test('routes: base addresses have settings, and lists have their member', async () => {
  const shots = json(await ask(at(), '/b/api/username/ada/shots')).Shots;
  expect(json(await ask(at(), '/y/api/username/ada/shots'))).toEqual({ Pieces: shots });
  const { posts } = json(await ask(at(), '/a/api/?user=ada&post=true'));
  expect(json(await ask(at(), '/z/u/ada/all'))).toEqual({ notes: posts });
  expect(json(await ask(at(), '/z/u/ada')).username).toBe('ada');
  const config = readConfig({}, { BASE_URL_Z: '/elsewhere' }) as Record<string, unknown>;
  expect(config.baseUrlZ).toMatchObject({ path: '/elsewhere' });
  expect(() => readConfig({}, { BASE_URL_Z: '/same', BASE_URL_Y: '/same' })).toThrow(
    /claim the same address/,
  );
});

test('a style with addresses of its own may have the plugin of another', async () => {
  const { posts } = json(await ask(at(), '/a/api/?user=ada&post=true'));
  expect(json(await ask(at(), '/x/api/username/ada/works'))).toEqual({ works: posts });
  expect(json(await ask(at(), '/x/api/username//works')).code).toBe('USER_MISSING');
  const { paths } = json(await ask(at(), '/openapi.json'));
  const { summary, description } = paths['/x/api/username/{username}/works'].get;
  expect(summary + description).toContain('posts');
  expect(summary + description).not.toContain('shots');
});

test('OpenAPI', async () => {
  const { paths, tags, components } = json(await ask(at(), '/openapi.json'));
  expect(paths['/y/api/username/{username}/shots'].get.operationId).toBe('getItemsY');
  expect(paths['/z/u/{username}/all'].get.operationId).toBe('itemsz');
  expect(tags.map(({ name }: { name: string }) => name)).toEqual(
    expect.arrayContaining(['Variant Y', 'Variant Z']),
  );
  expect(Object.keys(components.schemas.ItemsZ.properties)).toEqual(['notes']);
});

test('the explorer and the card', async () => {
  const { body } = await ask(at(), '/');
  const [, configuration = ''] = /<script id="configuration"[^>]*>(.*?)<\/script>/s.exec(body) ?? [];
  const lookups = { profile: '/u/:username', items: '/u/:username/all' };
  expect(JSON.parse(configuration).variants.slice(-2)).toMatchObject([
    { name: 'y', path: '/y', family: 'portfolio', collection: 'Pieces' },
    { name: 'z', path: '/z', family: 'microblog', collection: 'notes', ...lookups },
  ]);
  const row = { ...lookups, list: 'notes', item: 'post', total: 'totalPost' };
  expect((await ask(at(), '/embed.js')).body).toContain(`"z":${JSON.stringify(row)}`);
});

test.each(['x', 'y', 'z'])('mirror and doctor of variant %s', async (variant) => {
  const database = newPath();
  expect((await mirror(database, variant, `${url}/${variant}`, '--user', 'ada')).code).toBe(0);
  const records = await exported(database);
  expect(records.filter((record) => record.includes('"username":"ada"'))).toHaveLength(1);
  expect(records.length).toBeGreaterThan(10);
  const { stdout } = await run(['doctor', '--user', 'ada', `${url}/${variant}`]);
  expect(stdout).toMatch(new RegExp(`^ok +address +variant ${variant} at`, 'm'));
});

test.each([
  ['y', '/y/api/username/ada/shots'],
  ['z', '/z/u/ada/all'],
])('import of saved bodies of variant %s', async (variant, address) => {
  const profile = await ask(at(), address.replace(/\/(shots|all)$/, ''));
  const list = await ask(at(), address);
  const [file, ready] = [newPath(), tempFile(`${variant}.json`, list.body)];
  await done(['import', '--database-url', file, tempFile('profile.json', profile.body), ready]);
  expect((await exported(file)).length).toBe(1 + Object.values(json(list) as object)[0].length);
});
