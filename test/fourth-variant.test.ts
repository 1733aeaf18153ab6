// A variant is one row of the table: one more row shows up in routes, OpenAPI, pages, mirror and doctor.
import { beforeAll, expect, test, vi } from 'vitest';
import { runProgram } from '../src/cli/program.ts';
import { readConfig } from '../src/config/config.ts';
import { serve } from '../src/server/serve.ts';
import { createLog } from '../src/telemetry/log.ts';
import { exported, newPath } from './importing.ts';
import { ask, databaseOf, fixture, json } from './rig.ts';

vi.mock('../src/variants.ts', async (original) => {
  const { VARIANTS, ...others } = await original<typeof import('../src/variants.ts')>();
  const about = 'Design portfolio: like variant B, but the shots are listed as `Works`.';
  const d = { style: 'path', family: 'portfolio', collection: 'Works', about };
  const all = { ...VARIANTS, d };
  return { ...others, VARIANTS: all, VARIANT_NAMES: Object.keys(all) };
});

let url: string;
const at = () => ({ port: Number(new URL(url).port) });
beforeAll(async () => {
  const databaseUrl = await databaseOf(fixture('portfolio.ndjson'));
  const config = readConfig({ port: '0', databaseUrl, logLevel: 'silent' });
  const running = await serve(config, createLog(config, { write() {} }));
  url = running.url;
  return () => running.stop();
});

/** Runs a command and gives what it wrote. */
async function command(...args: string[]): Promise<string> {
  let output = '';
  const stdout = { write: (text: string) => void (output += text) };
  const around = {
    environment: {},
    stdin: (async function* () {})(),
    stdout: stdout as never,
    stderr: stdout,
    serve: async () => {},
    stopSignal: () => new AbortController().signal,
    onUncaught() {},
  };
  // What it wrote tells, whether or not it succeeded.
  await runProgram(around, args);
  return output;
}

test('routes: its base address has a setting, and its lists have its member', async () => {
  expect(json(await ask(at(), '/d/api/username/ada')).username).toBe('ada');
  const { Works } = json(await ask(at(), '/d/api/username/ada/shots'));
  expect(Works).toEqual(json(await ask(at(), '/b/api/username/ada/shots')).Shots);
  const moved = readConfig({}, { BASE_URL_D: '/elsewhere' });
  expect(Object.entries(moved).find(([name]) => name === 'baseUrlD')?.[1]).toMatchObject({
    path: '/elsewhere',
  });
});

test('OpenAPI and the API reference that shows it', async () => {
  const { paths, tags, components } = json(await ask(at(), '/openapi.json'));
  expect(paths['/d/api/username/{username}/shots'].get.operationId).toBe('getItemsD');
  expect(tags.map(({ name }: { name: string }) => name)).toContain('Variant D');
  expect(Object.keys(components.schemas.ItemsD.properties)).toEqual(['Works']);
});

test('the explorer', async () => {
  const { body } = await ask(at(), '/');
  const [, configuration = ''] = /<script id="configuration"[^>]*>(.*?)<\/script>/s.exec(body) ?? [];
  expect(JSON.parse(configuration).variants.at(-1)).toMatchObject({
    name: 'd',
    path: '/d',
    style: 'path',
    family: 'portfolio',
    collection: 'Works',
  });
});

test('the card', async () => {
  const { body } = await ask(at(), '/embed.js');
  expect(body).toContain('"d":{"query":false,"list":"Works","item":"shot","total":"totalShots"}');
});

test('mirror', async () => {
  const database = newPath();
  await command(
    ...['mirror', '--variant', 'd', '--from', `${url}/d`, '--user', 'ada', '--database-url', database],
  );
  const records = await exported(database);
  expect(records.filter((record) => record.includes('"username":"ada"'))).toHaveLength(1);
  expect(records.length).toBeGreaterThan(10);
});

test('doctor', async () => {
  const report = await command('doctor', '--variant', 'd', '--user', 'ada', `${url}/d`);

  expect(report).toMatch(/^ok +address +variant d at/m);
});
