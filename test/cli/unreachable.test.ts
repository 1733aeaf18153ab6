// A database that cannot be reached ends every command that opens it: none may say what it could not read.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/program.ts';
import { tempFolder } from '../support/files.ts';
import { ask } from '../support/http.ts';
import { run } from '../support/run.ts';
import { startServer } from '../support/server.ts';
import { adminOf } from '../support/stress.ts';

const CLOSED = 'postgres://me@127.0.0.1:1/db';

/** What each command needs beside the database, so that nothing else ends it. */
const ARGUMENTS: Record<string, string[]> = {
  import: ['-'],
  mirror: [
    '--from',
    'http://127.0.0.1:1',
    '--variant',
    'b',
    '--user',
    'ada',
    '--state',
    join(tempFolder(), 'state'),
  ],
  'media fetch': [],
  'media relink': [],
  'media status': [],
  'media check': [],
  'media prune': [],
  export: [],
  changes: [],
  remove: ['--family', 'portfolio', 'ada'],
  takedown: ['--list'],
  purge: ['--all'],
  migrate: [],
  count: [],
  check: [],
  publish: ['--for', 'nginx', join(tempFolder(), 'site')],
};
/** These end before they open it. A server waits for its database. */
const OTHERS = ['snapshot', 'restore', 'serve', 'config', 'print'];

/** In the help of a command that takes some settings, and of one that takes all. */
const TAKES_DATABASE = /--database-url <|Each setting is an option/;

test('every command that opens a database is tested here', async () => {
  const { stdout } = await run(['media', '--help']);
  const parts = [...stdout.matchAll(/^ {2}(\w+) \[options\]/gm)].map(([, part]) => `media ${part}`);
  const taking: string[] = [];
  for (const words of [...Object.keys(COMMANDS).filter((name) => name !== 'media'), ...parts])
    if (TAKES_DATABASE.test((await run([...words.split(' '), '--help'])).stdout)) taking.push(words);
  expect(taking.toSorted()).toEqual([...Object.keys(ARGUMENTS), ...OTHERS].toSorted());
});

test.each(Object.entries(ARGUMENTS))('%s fails and names the database', async (words, args) => {
  const folder = tempFolder();
  const env = {
    DATABASE_URL: CLOSED,
    MEDIA_DIR: folder,
    MEDIA_URL: 'http://127.0.0.1/m/',
    PUBLIC_URL: 'http://127.0.0.1',
    PURGE: `nginx:${folder}`,
  };
  const { code, stdout, stderr } = await run([...words.split(' '), ...args, '--json'], { env });
  const said = expect.stringContaining('The database at 127.0.0.1:1 refuses connections.');
  expect({ code, said: stdout + stderr }).toEqual({ code: 1, said });
});

// Zeros would ring as lost users.
test('a server that could not read its database yet has no metrics of what it holds', async () => {
  const server = await startServer({ DATABASE_URL: CLOSED, ADMIN_PORT: '0' });
  const { body } = await ask(adminOf(server), '/metrics');
  await server.stop();
  expect(body).toContain('vitrine_postgres_up{host="127.0.0.1:1"} 0');
  expect(body).not.toMatch(/^vitrine_(records|last_import)/m);
});
