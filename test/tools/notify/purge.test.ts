// Caches that are purged of what changed: how each kind of cache is purged, and `vitrine purge`. The tags on answers are in
// fixtures/cases/purge.txt.
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { FAMILIES, type Family } from '../../../src/records/kinds.ts';
import { userTag } from '../../../src/records/user-name.ts';
import { createCaches, SERVICES } from '../../../src/tools/notify/caches.ts';
import { microblogName, USER_IDS } from '../../support/beyond-limits.ts';
import { databaseOf } from '../../support/database.ts';
import { fixture, ndjson, plainFolder, tempFile } from '../../support/files.ts';
import { freePort } from '../../support/free-port.ts';
import { startSite } from '../../support/mirror-site.ts';
import { folio, shot } from '../../support/records.ts';
import { run } from '../../support/run.ts';

const data = () => databaseOf(fixture('microblog.ndjson'), fixture('portfolio.ndjson'));

async function tell(
  text: string,
  keys: string[] | 'everything',
  env = {},
  families: readonly Family[] = ['portfolio'],
): Promise<void> {
  const ofKey = (key: string) => families.map((family) => ({ family, key, profile: true, list: false }));
  const changes = keys === 'everything' ? keys : keys.flatMap(ofKey);
  const { signal } = new AbortController();
  for (const { deliver } of createCaches(readConfig({ purge: text }), env))
    await deliver({ changes, signal, generation: 2, since: 1, wasReached: true });
}

test('nginx: only the files of the user are removed, however the address is written', async () => {
  const folder = plainFolder();
  const entry = (url: string, key: string) =>
    `${'\0'.repeat(336)}\nKEY: x${url}\nHTTP/1.1 200 OK\r\nCache-Tag: vitrine,${userTag('portfolio', key)}\r\n\r\n{}`;
  const put = (url: string, key: string, name = hash('md5', `x${url}`)) => {
    const file = join(folder, name.slice(-1), name.slice(-3, -1), name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, entry(url, key));
    return file;
  };
  const named = (tag: string) => `/b/api/username/${tag}`;
  const hers = [
    ...[named('ada'), named('AD%61'), '/people/b/ada', '/feeds/b/ada/4711.atom'].map((url) =>
      put(url, 'ada'),
    ),
    // The tag of another user in the address, and one that pushes the headers back.
    ...[named(userTag('portfolio', 'pekka')), named('x'.repeat(5000))].map((url) => put(url, 'ada')),
  ];
  const his = put(named('pekka'), 'pekka');
  const others = [
    put('/temporary', 'ada', '00112233445566778899aabbccddeeff.0000000001'),
    ...[join(folder, 'note'), join(folder, 'c')].map((path) => `${path}.txt`),
  ];
  for (const file of others.slice(1)) writeFileSync(file, entry(named('ada'), 'ada'));
  const [pipe, directory] = ['0', '1'].map((digit) => join(folder, 'c', digit.repeat(32))) as [
    string,
    string,
  ];
  mkdirSync(directory, { recursive: true });
  execFileSync('mkfifo', [pipe]);
  others.push(pipe, directory);
  const left = () => [...hers, his, ...others].filter(existsSync);
  await tell(`nginx:${folder}`, []);
  expect(left()).toHaveLength(hers.length + 1 + others.length);
  await tell(`nginx:${folder}`, ['ada', 'nobody']);
  expect(left()).toEqual([his, ...others]);
  await tell(`nginx:${folder}`, 'everything');
  expect(left()).toEqual(others);
  await expect(tell(`nginx:${folder}/none`, ['ada'])).rejects.toThrow('none does not exist: start nginx');
});

test('Cloudflare is called as its API says', () => {
  expect(SERVICES.cloudflare.url('zone')).toBe('https://api.cloudflare.com/client/v4/zones/zone/purge_cache');
});

/** A provider that answers as it is told, and remembers what it was asked for. */
async function startProvider(...statuses: number[]) {
  const calls: { token: string | undefined; tags: string[]; at: number }[] = [];
  const { url } = await startSite(async (request, response) => {
    const { tags } = JSON.parse(Buffer.concat(await request.toArray()).toString());
    calls.push({ token: request.headers.authorization, tags, at: performance.now() });
    response.writeHead(statuses.shift() ?? 200, { 'retry-after': '1' }).end();
  });
  return { calls, cache: `post:${url}/purge` };
}

describe('a provider', () => {
  const users = (count: number) => Array.from({ length: count }, (_, nr) => `user${nr}`);

  test('is told in batches, or by one call if they are too many', async () => {
    const { calls, cache } = await startProvider();
    await tell(cache, users(2500), { PURGE_TOKEN_FILE: tempFile('token', 's3cret\n') });
    expect(calls.map(({ tags }) => tags.length)).toEqual([1000, 1000, 500]);
    expect(new Set(calls.flatMap(({ tags }) => tags)).size).toBe(2500);
    expect(calls[0]?.token).toBe('Bearer s3cret');
    await tell(`${cache}?per-minute=4`, users(2500));
    await tell(cache, 'everything');
    expect(calls.slice(3).map(({ tags, token }) => [tags, token])).toEqual([
      [['vitrine'], undefined],
      [['vitrine'], undefined],
    ]);
  });

  test('is told of users with one name in both families by a tag for each', async () => {
    const { calls, cache } = await startProvider();
    const keys = USER_IDS.map(microblogName);
    await tell(cache, keys, {}, FAMILIES);
    const tags = keys.flatMap((key) => FAMILIES.map((family) => userTag(family, key)));
    expect(calls.flatMap((call) => call.tags)).toEqual(tags);
    expect(new Set(tags).size).toBe(2 * keys.length);
  });

  test('with 429 or 503 is told again, after as long as it says', async () => {
    const { calls, cache } = await startProvider(429, 503);
    await tell(cache, ['ada']);
    expect(calls).toHaveLength(3);
    for (const [nr, { at, tags }] of calls.entries()) {
      expect(tags).toEqual([userTag('portfolio', 'ada')]);
      if (nr > 0) expect(at - (calls[nr - 1]?.at ?? 0)).toBeGreaterThanOrEqual(999);
    }
  });

  test('that refuses is an error without the token', async () => {
    const { cache } = await startProvider(403);
    const error = await tell(cache, ['ada'], { PURGE_TOKEN: 's3cret' }).catch(String);
    expect(error).toMatch(/status 403: set PURGE_TOKEN/);
    expect(error).not.toContain('s3cret');
    await expect(tell('cloudflare:0123456789abcdef0123456789abcdef', 'everything')).rejects.toThrow(
      'PURGE needs a token: set CLOUDFLARE_API_TOKEN or CLOUDFLARE_API_TOKEN_FILE',
    );
  });
});

test('caches lose the newest page when its link to older items appears or goes', async () => {
  const { calls, cache } = await startProvider();
  const newest = Array.from({ length: 15 }, (_, nr) => shot(nr + 2, 1));
  const path = await databaseOf(folio(1, 'ada'), ...newest);
  const vitrine = async (...args: string[]) => {
    expect((await run(args, { env: { DATABASE_URL: path, PURGE: cache } })).code).toBe(0);
    return calls.splice(0).map(({ tags }) => tags);
  };
  const file = (...records: object[]) => tempFile('ada.ndjson', ndjson(folio(1, 'ada'), ...records));
  await vitrine('purge');
  const hers = [[userTag('portfolio', 'ada')], [userTag('portfolio', 'ada')]];
  const old = shot(1, 1, { date: '1990-01-01 00:00:00' });
  expect(await vitrine('import', file(old))).toEqual(hers);
  expect(await vitrine('takedown', '--family', 'portfolio', '--item', '1')).toEqual(hers);
});

test('imports, takedowns and `vitrine purge` tell caches, repeat what failed, and hide the token', async () => {
  const { calls, cache } = await startProvider();
  const path = await data();
  // Some programs have their token in the address.
  const secret = `${cache}/s3cret-path`;
  const env = { DATABASE_URL: path, PURGE: secret, PURGE_TOKEN: 's3cret' };
  const down = { ...env, PURGE: `${secret},post:http://127.0.0.1:${await freePort()}/s3cret` };
  const files = Array.from({ length: 3 }, (_, nr) =>
    tempFile('ada.ndjson', ndjson(folio(nr + 1, `nr${nr}`))),
  );
  const outputs: string[] = [];
  const vitrine = async (args: string[], environment: Record<string, string> = env) => {
    const { code, stdout, stderr } = await run(args, { env: environment });
    outputs.push(stdout, stderr);
    return { code, stdout, stderr };
  };
  const told = () => calls.splice(0).map(({ tags }) => tags);
  const tag = (name: string) => userTag('portfolio', name);

  expect((await vitrine(['import', files[0] as string])).code).toBe(0);
  expect(told()).toEqual([['vitrine'], ['vitrine']]);
  const { code, stderr } = await vitrine(['import', files[1] as string], down);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/^post:\S+ was not notified.* connection refused/),
  });
  expect(told()).toEqual([[tag('nr1')], [tag('nr1')]]);
  const { caches } = JSON.parse((await vitrine(['purge', '--dry-run', '--json'], down)).stdout).result;
  const shown = cache.replace('purge', '…');
  expect(caches).toEqual([
    { name: expect.stringMatching(new RegExp(`^${shown}[0-9a-f]{8}$`)), users: 0 },
    { name: expect.stringMatching(/^post:http:\/\/127\.0\.0\.1:\d+\/…[0-9a-f]{8}$/), users: null },
  ]);
  expect((await vitrine(['purge'], down)).code).toBe(1);
  expect(told()).toEqual([]);
  expect((await vitrine(['purge', '--all'])).stdout).toBe(`${caches[0].name}: everything\n`);
  expect(told()).toEqual([['vitrine'], ['vitrine']]);
  await vitrine(['takedown', '--family', 'portfolio', 'NR1']);
  expect(told()).toEqual([[tag('nr1')], [tag('nr1')]]);
  expect(readFileSync(path).includes('nr1')).toBe(false);
  // Users that no subscriber could be told of are forgotten when there is no subscriber any more.
  const gone = await vitrine(['takedown', '--family', 'portfolio', 'nr0'], { ...env, PURGE: 'nginx:/none' });
  expect(gone.stderr).toContain('take it out of PURGE or NOTIFY, and the next import erases the names');
  expect(readFileSync(path).includes('nr0')).toBe(true);
  expect((await vitrine(['import', files[2] as string], { DATABASE_URL: path })).stderr).toBe('');
  expect(readFileSync(path).includes('nr0')).toBe(false);
  expect((await vitrine(['purge'], { DATABASE_URL: path })).stderr).toMatch(/name the caches: set PURGE/);
  expect(outputs.join('')).not.toContain('s3cret');
  expect(readFileSync(path).includes('s3cret')).toBe(false);
});

test('a token is changed as the guide says, and no purge is lost', async () => {
  const refused = new Set<string>();
  const calls: string[] = [];
  const { url } = await startSite(async (request, response) => {
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    const { tags } = JSON.parse(Buffer.concat(await request.toArray()).toString());
    calls.push(`${token} ${tags}`);
    response.writeHead(refused.has(token) ? 401 : 200).end();
  });
  using _ = vi.spyOn(SERVICES.cloudflare, 'url').mockReturnValue(`${url}/purge_cache`);
  const file = tempFile('token', 'old\n');
  const base = {
    DATABASE_URL: await data(),
    PURGE: 'cloudflare:0123456789abcdef0123456789abcdef?per-minute=300',
  };
  const env = { ...base, CLOUDFLARE_API_TOKEN_FILE: file };
  const earlier = { ...base, CLOUDFLARE_API_TOKEN: 'old' };
  const importUser = async (id: number, env: Record<string, string>) =>
    (await run(['import', tempFile('new.ndjson', ndjson(folio(id, `new${id}`)))], { env })).stderr;
  const told = () => [...new Set(calls.splice(0))];
  const sent = (token: string, id: number) => `${token} ${userTag('portfolio', `new${id}`)}`;
  expect((await run(['purge'], { env })).code).toBe(0);
  expect(told()).toEqual(['old vitrine']);

  writeFileSync(file, 'new\n');
  expect(await importUser(9001, env)).toBe('');
  // A command that had begun before.
  expect(await importUser(9002, earlier)).toBe('');
  expect(told()).toEqual([sent('new', 9001), sent('old', 9002)]);

  refused.add('old');
  expect(await importUser(9003, earlier)).toMatch(
    /was not notified, and will be the next time: status 401: the token must be valid, and have the permission/,
  );
  expect(told()).toEqual([sent('old', 9003)]);
  expect((await run(['purge'], { env })).code).toBe(0);
  expect(told()).toEqual([sent('new', 9003)]);
});

test('a takedown lists the addresses that caches may still answer, unless it purges them', async () => {
  const { cache } = await startProvider();
  const base = { DATABASE_URL: await data(), BASE_URL_B: 'https://b.example/b' };
  const takeDown = async (name: string, env: Record<string, string>) => {
    const { stdout, stderr } = await run(['takedown', '--family', 'portfolio', name, '--json'], { env });
    return { stderr, addresses: JSON.parse(stdout).result.addresses };
  };
  const listed = await takeDown('ada', base);
  expect(listed.addresses).toContain('https://b.example/b/api/username/ada');
  const purged = await takeDown('pekka', { ...base, PURGE: cache });
  expect({ addresses: purged.addresses, stderr: purged.stderr }).toEqual({ addresses: [], stderr: '' });
});
