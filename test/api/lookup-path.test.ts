// The way of a lookup, by V8's coverage of a warm one: the guide names every file, and few functions run.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { databaseOf } from '../support/database.ts';
import { fixture, ROOT } from '../support/files.ts';

const guide = readFileSync(join(ROOT, '.github/CONTRIBUTING.md'), 'utf8');
const section = /### A lookup, by file and function\n([\s\S]*?)\n\n[^\d ]/.exec(guide)?.[1] ?? '';
const named = [...section.matchAll(/`([\w/-]+\.ts)(?::\w+)?`/g)].map(([, file]) => file as string);

/** Run by Node itself, since the test runner adds functions: prints those that run for a warm lookup. */
const TRACE = `
  import { get } from 'node:http';
  import { Session } from 'node:inspector/promises';
  import { readConfig } from './src/config/config.ts';
  import { startServer } from './src/server/serve.ts';
  import { createLog } from './src/server/telemetry/log.ts';
  const config = readConfig({ port: '0', databaseUrl: process.argv[1] });
  // The server does not look whether its file was replaced, as it does four times a second.
  globalThis.setInterval = () => ({ unref() {} });
  const { url } = await startServer(config, createLog(config, { write() {} }));
  const look = () => new Promise((resolve) =>
    get(url + '/b/api/username/ada/shots', { headers: { 'accept-encoding': 'gzip' } }, (reply) =>
      reply.resume().once('end', () => setImmediate(resolve))));
  for (let nth = 0; nth < 5; nth++) await look();
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await session.post('Profiler.takePreciseCoverage');
  // The least of several: the first ones may still load something.
  const rounds = [];
  for (let nth = 0; nth < 5; nth++) {
    await look();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    rounds.push(result.flatMap(({ url, functions }) => functions
      .filter(({ ranges: [first] }) => first.count > 0 && first.startOffset > 0 && url.includes('/src/'))
      .map(({ functionName }) => [url.split('/src/')[1], functionName])));
  }
  console.log(JSON.stringify(rounds.sort((one, two) => one.length - two.length)[0]));
  process.exit();
`;

test('a lookup takes at most ten hops, 18 files and 50 functions', async () => {
  const url = await databaseOf(fixture('portfolio.ndjson'));
  const options = { cwd: ROOT, encoding: 'utf8' } as const;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', TRACE, url], options);
  const ran: [file: string, name: string][] = JSON.parse(output);
  const files = [...new Set(ran.map(([file]) => file))];
  const functions = ran.map(([file, name]) => `${file}:${name}`);
  expect(functions).toContain('api/lookup.ts:answerLookup');
  // A stack trace tells the way.
  expect(functions.filter((name) => name.endsWith(':'))).toEqual([]);
  expect(files.filter((file) => !named.includes(file))).toEqual([]);
  expect(files.length, files.join(' ')).toBeLessThanOrEqual(18);
  expect(functions.length, functions.join(' ')).toBeLessThanOrEqual(50);
  expect(section.match(/^\d+\. /gm)?.length).toBeLessThanOrEqual(10);
});
