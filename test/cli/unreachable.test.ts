// A database that cannot be reached ends every command that opens it: none may say what it could not read.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/program.ts';
import { databaseOf } from '../support/database.ts';
import { copyOf, fixture, tempFolder } from '../support/files.ts';
import { ask } from '../support/http.ts';
import { prepareServe, run } from '../support/run.ts';
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
const FILE_ONLY: Record<string, string[]> = {
  snapshot: [join(tempFolder(), 'snapshot.db')],
  restore: [copyOf(fixture('older/schema-4.db'))],
};
const OTHERS = ['serve', 'config', 'print'];

/** In the help of a command that takes some settings, and of one that takes all. */
const TAKES_DATABASE = /--database-url <|Each setting is an option/;

test('every command that opens a database is tested here', async () => {
  const { stdout } = await run(['media', '--help']);
  const parts = [...stdout.matchAll(/^ {2}(\w+) \[options\]/gm)].map(([, part]) => `media ${part}`);
  const taking: string[] = [];
  for (const words of [...Object.keys(COMMANDS).filter((name) => name !== 'media'), ...parts])
    if (TAKES_DATABASE.test((await run([...words.split(' '), '--help'])).stdout)) taking.push(words);
  expect(taking.toSorted()).toEqual([...Object.keys({ ...ARGUMENTS, ...FILE_ONLY }), ...OTHERS].toSorted());
});

test.each(Object.entries(ARGUMENTS))('%s fails and names the database', async (words, args) => {
  const { code, stdout, stderr } = await run([...words.split(' '), ...args, '--json'], {
    env: settingsFor(CLOSED),
  });
  const said = expect.stringContaining('The database at 127.0.0.1:1 refuses connections.');
  expect({ code, said: stdout + stderr }).toEqual({ code: 1, said });
});

function settingsFor(database: string) {
  const folder = tempFolder();
  return {
    DATABASE_URL: database,
    MEDIA_DIR: folder,
    MEDIA_URL: 'http://127.0.0.1/m/',
    PUBLIC_URL: 'http://127.0.0.1',
    PURGE: `nginx:${folder}`,
  };
}

/** They tell programs of what they changed. `restore` only warns, since its work is done by then. */
const NOTIFYING = ['import', 'mirror', 'media fetch', 'media relink', 'remove', 'purge', 'restore'];

test.each([...Object.keys({ ...ARGUMENTS, ...FILE_ONLY }), 'print', 'serve'])(
  '%s needs NOTIFY_FILE only if it notifies',
  async (words) => {
    const path = copyOf(await databaseOf(fixture('microblog.ndjson')));
    const args = { ...ARGUMENTS, ...FILE_ONLY, print: ['systemd'], serve: ['--rehearse'] }[words] ?? [];
    const env = { ...settingsFor(path), NOTIFY_FILE: '/nonexistent/notify' };
    const runs = words === 'serve' ? prepareServe : run;
    const { stderr } = await runs([...words.split(' '), ...args], { env });
    expect(stderr.includes('NOTIFY_FILE must name a file')).toBe(NOTIFYING.includes(words));
  },
);

// Zeros would ring as lost users.
test('a server that could not read its database yet has no metrics of what it holds', async () => {
  const server = await startServer({ DATABASE_URL: CLOSED, ADMIN_PORT: '0' });
  const { body } = await ask(adminOf(server), '/metrics');
  await server.stop();
  expect(body).toContain('vitrine_postgres_up{host="127.0.0.1:1"} 0');
  expect(body).not.toMatch(/^vitrine_(records|last_import)/m);
});
