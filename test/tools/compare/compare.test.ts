// Comparing two sites: each answer is classed, and pictures are compared by their bytes.
// What it prints is in fixtures/cases/mirror.txt.
import { existsSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CompareOptions, runCompare } from '../../../src/tools/compare/compare.ts';
import { compareAnswers } from '../../../src/tools/compare/user.ts';
import type { UserComparison } from '../../../src/tools/compare/verdicts.ts';
import { isPublic } from '../../../src/tools/remote/file-client.ts';
import { readLines, tempFolder } from '../../support/files.ts';
import { crowd, type Files, PACE, portfolio, startFiles, startSite } from '../../support/mirror-site.ts';
import { blog, folio, post } from '../../support/records.ts';

const PICTURES = { match: () => Promise.reject(new Error('no picture is to be compared')) };
const bytes = (body: unknown) =>
  body === undefined ? undefined : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));

const SITES = { old: new URL('http://old.example/x'), new: new URL('https://new.example') };
const compareAs = (lookup: 'profile' | 'items') => (one: unknown, other: unknown) => {
  const question = { lookup, family: 'microblog', collection: 'posts', ...SITES } as const;
  return compareAnswers(bytes(one), bytes(other), question, PICTURES);
};

/** Items numbered from `first` to `last`, newest first, a day apart. */
const posts = (first: number, last: number) => ({
  posts: Array.from({ length: last - first + 1 }, (_, index) => {
    const id = last - index;
    return post(id, 1, { date: `2024-01-${String(id).padStart(2, '0')} 00:00:00` });
  }),
});

describe.concurrent('the class of a profile', () => {
  const compare = compareAs('profile');
  const ada = blog(1, 'ada', { bio: 'x' });
  const reversed = Object.fromEntries(Object.entries(ada).reverse());
  const large = (id: string) => `{"id":${id},"username":"ada"}`;
  const bad = { ...ada, website: 'no address' };
  const relative = { avatar: '/a.png', cover_image: 'img/b.png', website: 'www.x.example' };
  const absolute = {
    avatar: 'http://old.example/a.png',
    cover_image: 'http://old.example/x/img/b.png',
    website: 'http://www.x.example',
  };

  test.each<[what: string, one: unknown, other: unknown, found: string]>([
    ['equal bodies', ada, ada, 'same bytes'],
    ['another order and spacing', ada, JSON.stringify(reversed, null, 2), 'same meaning'],
    ['numbers for strings', { ...ada, id: 1, totalPost: 0 }, ada, 'same meaning'],
    ['a number beyond 2^53', large('9007199254740993'), large('"9007199254740993"'), 'same meaning'],
    [
      'a byte order mark and a trailing comma',
      '\ufeff{"id":"1","username":"ada",}',
      large('"1"'),
      'same meaning',
    ],
    [
      'null and empty values',
      { ...ada, website: null },
      { ...ada, website: '', totalFavs: '0' },
      'same meaning',
    ],
    ['addresses as browsers read them', { ...ada, ...relative }, { ...ada, ...absolute }, 'same meaning'],
    ['members outside the specification', { ...ada, theme: 'dark' }, ada, 'same meaning'],
    ['what an import would refuse', { ...bad, totalPost: 0 }, bad, 'same meaning'],
    ['no answer from both', undefined, undefined, 'unknown'],
    ['no answer from one', ada, undefined, 'missing'],
    ['no answer from the other', undefined, ada, 'missing'],
    ['a count that differs', ada, { ...ada, totalPost: '1' }, 'different'],
    ['its last digit', large('9007199254740993'), large('"9007199254740992"'), 'different'],
    ['something else than an object', ada, [ada], 'different'],
    ['a picture that one site does not have', ada, { ...ada, avatar: 'http://x.example/a.png' }, 'different'],
  ])('%s', async (_, one, other, found) => {
    expect((await compare(one, other)).class).toBe(found);
  });

  test('names the members that differ, with both values, and the hashes of both bodies', async () => {
    const found = await compare(bad, { ...ada, bio: 'y', name: 'Ada' });
    expect(found).toMatchObject({
      class: 'different',
      differences: [
        { member: 'name', old: '', new: 'Ada' },
        { member: 'website', old: 'no address', new: '' },
        { member: 'bio', old: 'x', new: 'y' },
      ],
    });
    for (const hash of [found.old, found.new]) expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(found.old).not.toBe(found.new);
  });
});

describe.concurrent('the class of items', () => {
  const compare = compareAs('items');
  const list = (...items: object[]) => ({ posts: items });
  const three = posts(1, 3).posts;
  const changed = list(...three.map((item) => (item.id === '2' ? { ...item, status: '9' } : item)));
  const without = (id: string, items = three) => list(...items.filter((item) => item.id !== id));

  test.each<[what: string, one: unknown, other: unknown, found: string]>([
    ['equal lists', posts(1, 3), posts(1, 3), 'same bytes'],
    ['another order of the items', posts(1, 3), list(...three.toReversed()), 'same meaning'],
    ['more than 15 items, of which the other has the newest', posts(1, 20), posts(6, 20), 'same meaning'],
    ['two empty lists in another spelling', '{"posts":[]}', '{ "posts": [] }', 'same meaning'],
    ['a newer item on the new site', posts(1, 3), posts(1, 4), 'newer'],
    ['a newer item on the old site', posts(1, 4), posts(1, 3), 'older'],
    ['newer items that push others out of a full list', posts(1, 15), posts(4, 18), 'newer'],
    ['the same from the other side', posts(4, 18), posts(1, 15), 'older'],
    ['items of the same second', list(post(9, 1)), list(post(10, 1), post(9, 1)), 'newer'],
    ['an older item that is missing', posts(1, 3), without('1'), 'different'],
    ['an item in between that is missing', posts(1, 3), without('2'), 'different'],
    ['a full list with another item', posts(2, 16), without('9', posts(1, 16).posts), 'different'],
    ['a newer item, and one that changed', posts(1, 4), changed, 'different'],
    ['a list that was lost', posts(1, 3), list(), 'different'],
    ['lists with nothing in common', posts(1, 3), posts(4, 6), 'different'],
    ['another name of the list', posts(1, 3), { Posts: three }, 'different'],
    ['a list of other things', posts(1, 3), { posts: ['x'] }, 'different'],
    ['a list beyond all measure', posts(1, 3), list(...Array(1001).fill(post(1, 1))), 'different'],
  ])('%s', async (_, one, other, found) => {
    expect((await compare(one, other)).class).toBe(found);
  });

  test('names the item and the member', async () => {
    const found = async (other: object) => (await compare(posts(1, 3), other)).differences;
    expect(await found(changed)).toEqual([{ item: '2', member: 'status', old: '0', new: '9' }]);
    expect(await found(without('2'))).toEqual([
      { item: '2', member: 'record', old: 'listed', new: 'missing' },
    ]);
  });
});

test('addresses of private networks, also within IPv6, are not public', () => {
  const found = (addresses: string) => addresses.split(' ').filter(isPublic).join(' ');
  expect(found('203.0.114.1 2600::1')).toBe('203.0.114.1 2600::1');
  expect(found('127.0.0.1 10.1.2.3 169.254.169.254 100.64.0.1 ::1 fe80::1 fd00::1')).toBe('');
  expect(found('::ffff:127.0.0.1 64:ff9b::7f00:1')).toBe('');
});

/** Runs a comparison of variant B in this process. */
async function compareHere(
  [old, other]: readonly [string, string],
  names: readonly string[],
  flags: Partial<CompareOptions> = {},
) {
  const report = flags.report ?? join(tempFolder(), 'report.ndjson');
  let shown = '';
  const outcome = await runCompare({
    variant: 'b',
    old: new URL(old),
    new: new URL(other),
    users: { names },
    ...PACE,
    report,
    out: { write: (text: string) => (shown += text) },
    signal: new AbortController().signal,
    ...flags,
  });
  const lines = existsSync(report) ? readLines(report).slice(1) : [];
  const users = lines.map((line) => JSON.parse(line) as UserComparison);
  return { ...outcome, shown, report, users: new Map(users.map((line) => [line.user, line])) };
}

type People = Parameters<typeof portfolio>[0];

const siteOf = (people: People, pictures: Files = {}) => startFiles(pictures, portfolio(people));

describe.concurrent('two sites', () => {
  test('asks again for an empty or cut body, then says that comparing failed', async () => {
    const whole = { ada: { profile: folio(1, 'ada') }, bob: { profile: folio(2, 'bob') } };
    const old = await siteOf(whole);
    let requests = 0;
    const answer = portfolio({ ...whole, bob: { profile: '{"id":"2","username":"b' } });
    const other = await startSite((request, response) => {
      if (requests++ === 0) response.end();
      else answer(request, response);
    });
    const pace = { retries: 1, concurrency: 1 };
    const { users, failure, shown } = await compareHere([old.url, other.url], ['ada', 'bob'], pace);
    expect([users.get('ada')?.profile.class, users.has('bob'), failure]).toEqual([
      'same bytes',
      false,
      '1 of 2 users could not be compared',
    ]);
    expect(shown).toMatch(/\/bob: not valid JSON: .* \(attempt 2 of 2\)\n$/);
  });

  test('counts a name that no user can have as not compared', async () => {
    const site = await siteOf({ ada: { profile: folio(1, 'ada') } });
    const { failure, result } = await compareHere([site.url, site.url], ['ada', 'a\u0001']);
    expect([failure, result.failed]).toEqual(['1 of 2 users could not be compared', 1]);
  });

  test('gives up a site that is down', async () => {
    const { names, answer } = crowd(60);
    const old = await startSite(answer);
    const other = await startSite((request, response) => {
      if (!request.url?.includes('user0')) response.writeHead(500).end();
      else answer(request, response);
    });
    const first = await compareHere([old.url, other.url], names);
    const words =
      /^given up: 20 requests to .* failed in a row; \d+ of 60 users are left; .*could not be compared$/;
    expect([first.failure, [...first.users.keys()]]).toEqual([expect.stringMatching(words), ['user0']]);
  });
});

describe.concurrent('pictures', () => {
  /** Two sites with the same users, whose avatars are at these addresses, relative to each. */
  async function compareAvatars(
    [old, other]: readonly [Files, Files],
    paths: readonly [string, string] = ['/old.png', '/new.png'],
    flags: Partial<CompareOptions> = {},
    names = ['ada'],
  ) {
    const people: [People, People] = [{}, {}];
    const sites = [await siteOf(people[0], old), await siteOf(people[1], other)] as const;
    for (const at of [0, 1] as const)
      for (const [index, name] of names.entries()) {
        const avatar = new URL(paths[at], sites[at].url).href;
        people[at][name] = { profile: folio(index + 1, name, { avatar }) };
      }
    const compared = await compareHere([sites[0].url, sites[1].url], names, flags);
    return { ...compared, sites, profile: compared.users.get('ada')?.profile };
  }

  test('one without an end is a difference', async () => {
    const endless: Files[string] = (response) => response.writeHead(200).write('x'.repeat(40_000));
    const { profile } = await compareAvatars([{ '/old.png': endless }, { '/new.png': 'y' }], undefined, {
      timeout: 1000,
    });
    const reason = 'pictures not compared: old: nothing came for 1 s (attempt 1 of 1)';
    expect(profile).toMatchObject({ class: 'different', differences: [{ member: 'avatar', reason }] });
  });

  test('of other hosts are fetched only if these are named', async () => {
    const third = await startSite((_, response) => response.end('x'));
    const paths = [`${third.url}/ada.png`, '/new.png'] as const;
    const unnamed = await compareAvatars([{}, { '/new.png': 'x' }], paths);
    expect(unnamed.profile).toMatchObject({ class: 'different' });
    expect([third.asked, unnamed.sites[1].asked.includes('/new.png')]).toEqual([[], false]);
    const pictureHosts = [new URL(third.url).host];
    const named = await compareAvatars([{}, { '/new.png': 'x' }], paths, { pictureHosts });
    expect(named.profile?.class).toBe('pictures');
  });

  test('with the same bytes are alike, and are fetched once unless that failed', async () => {
    const share = async (picture: Files[string]) => {
      const names = ['ada', 'bob', 'cleo'];
      const one = { concurrency: 1 };
      const pictures = [{ '/a': picture }, { '/b': 'x' }] as const;
      const { result, failure, sites } = await compareAvatars(pictures, ['/a', '/b'], one, names);
      const asked = sites[0].asked.filter((path) => path === '/a').length;
      return { failure, asked, alike: result?.users.pictures };
    };
    expect(await share('x')).toEqual({ failure: undefined, asked: 1, alike: 3 });
    let requests = 0;
    const resetOnce = (response: ServerResponse) => {
      if (requests++ === 0) response.destroy();
      else response.end('x');
    };
    expect(await share(resetOnce)).toMatchObject({ asked: 2, alike: 2 });
  });
});

test('a run that is stopped has what was compared in its report', async () => {
  const names = ['ada', 'bob', 'cleo'];
  const stop = new AbortController();
  const answer = portfolio(
    Object.fromEntries(names.map((name, index) => [name, { profile: folio(index + 1, name) }])),
  );
  const site = await startSite((request, response) => {
    // Never answered: that is where it is stopped.
    if (request.url?.includes('cleo') && !stop.signal.aborted) stop.abort();
    else answer(request, response);
  });
  const flags = { concurrency: 1, signal: stop.signal };
  const { failure, result, users } = await compareHere([site.url, site.url], names, flags);
  expect([failure, result?.users['same bytes']]).toEqual(['stopped; 1 of 3 users is left', 2]);
  expect([...users.keys()]).toEqual(['ada', 'bob']);
});
