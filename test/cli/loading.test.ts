// What commands load, which is most of what a short command costs: a table of the most modules, and of what must be absent.
import { once } from 'node:events';
import { beforeAll, expect, test } from 'vitest';
import { databaseOf } from '../support/database.ts';
import { fixture, loadedFirst } from '../support/files.ts';
import { vitrine } from '../support/run.ts';
import { startServer } from '../support/server.ts';

/** Names each module on standard error when the process ends. */
const LIST = `import { registerHooks } from 'node:module';
import { writeSync } from 'node:fs';
const urls = [];
registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
process.on('exit', () => writeSync(2, '\\nLOADED ' + JSON.stringify(urls)));
`;

let path: string;
let listing: { NODE_OPTIONS: string };
beforeAll(async () => {
  path = await databaseOf(fixture('portfolio.ndjson'));
  listing = { NODE_OPTIONS: loadedFirst(LIST) };
});

const HEAVY = ['@sinclair/typebox', 'undici', 'better-sqlite3', 'fastify', 'pino', 'pg', 'htmlparser2'];
const CLIENTS = [
  ...[
    'undici',
    'src/import',
    'src/import/formats',
    'src/tools/mirror',
    'src/tools/notify',
    'src/tools/publish',
    'src/tools/media',
    'src/tools/doctor',
  ],
  'src/server/rehearsal.ts',
];

const isOf = (name: string) => (url: string) =>
  url.includes(name.startsWith('src/') ? `/${name}` : `/node_modules/${name}/`);

function expectLoaded(stderr: string, most: number, absent: readonly string[]): void {
  const urls: string[] = JSON.parse(/^LOADED (.*)$/m.exec(stderr)?.[1] ?? '[]');
  expect(urls.length).toBeGreaterThan(10);
  expect(absent.filter((name) => urls.some(isOf(name)))).toEqual([]);
  expect(urls.length).toBeLessThanOrEqual(most);
}

async function listLoaded(args: readonly string[]): Promise<string> {
  const child = vitrine(args, { ...listing, DATABASE_URL: path });
  const stderr: Buffer[] = [];
  child.stderr?.on('data', (chunk) => stderr.push(chunk));
  child.stdout?.resume();
  await once(child, 'close');
  return Buffer.concat(stderr).toString();
}

// The count of today and a few more. A command that needs a heavy module loads it when it runs.
test.each<[args: string, most: number, absent: readonly string[]]>([
  ['--version', 40, HEAVY],
  ['print nginx', 75, HEAVY],
  ['help serve', 70, HEAVY],
  ['changes', 335, ['undici', 'fastify', 'pino', 'pg', 'src/import/formats']],
  ['export', 335, ['undici', 'fastify', 'pino', 'pg', 'src/import/formats']],
])('%s loads at most %i modules', async (args, most, absent) => {
  expectLoaded(await listLoaded(args.split(' ')), most, absent);
});

test('serve loads no client, importer, publisher or rehearsal', async () => {
  const server = await startServer({ DATABASE_URL: path, ...listing });
  const stderr: Buffer[] = [];
  server.child.stderr?.on('data', (chunk) => stderr.push(chunk));
  await server.stop();
  expectLoaded(Buffer.concat(stderr).toString(), 760, CLIENTS);
});
