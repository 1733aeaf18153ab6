// `normalise` turns raw objects into records whose members are strings, or lists one fault per wrong member.
import { describe, expect, test } from 'vitest';
import { MAX_RECORD_BYTES, normalise } from '../src/records/normalise.ts';
import { brief } from '../src/records/printable.ts';
import { parseKeepingDigits } from '../src/records/scalar.ts';
import { expectedRecord, type Kind, ORDERS, type Raw } from './expected.ts';

const SAMPLES: Record<Kind, Raw> = {
  'microblog profile': { totalPost: '1', id: '1', username: 'ada' },
  post: { id: '1', user: '2', date: '2024-02-29 23:59:59' },
  'portfolio profile': { totalShots: '1', id: '1', username: 'ada' },
  shot: { id: '1', user_id: '2', date: '2024-02-29 23:59:59' },
};
const KINDS = Object.keys(SAMPLES) as Kind[];

const row = (raw: unknown) => {
  const result = normalise(raw);
  if (!('row' in result)) throw new Error(JSON.stringify(result.faults));
  return result.row;
};
const record = (raw: unknown) => JSON.parse(row(raw).record);
const faults = (raw: unknown) => {
  const result = normalise(raw);
  return 'faults' in result ? result.faults : [];
};
const faultyMembers = (raw: unknown) => faults(raw).map(({ member }) => member);

describe.each(KINDS)('a %s', (kind) => {
  test('has every member of the specification, in its order, and only those', () => {
    const raw = { zzz: 'no member', ...SAMPLES[kind], constructor: 'x' };
    expect(row(raw).kind).toBe(kind);
    expect(row(raw).record).toBe(JSON.stringify(expectedRecord(kind, raw)));
    expect(row(Object.fromEntries(Object.entries(raw).reverse())).record).toBe(row(raw).record);
  });

  test('takes null for an absent member', () => {
    const nulls = Object.fromEntries(ORDERS[kind].split(' ').map((member) => [member, null]));
    expect(row({ ...nulls, ...SAMPLES[kind] }).record).toBe(row(SAMPLES[kind]).record);
  });

  test('is the same after a second pass', () => {
    const first = row({ ...SAMPLES[kind], username: 'Ada "the" \\ Ünï\u2028code 🗺️' }).record;
    expect(row(JSON.parse(first)).record).toBe(first);
  });

  test('reports every faulty member, in order', () => {
    const wrong = Object.fromEntries(ORDERS[kind].split(' ').map((member) => [member, { x: 'x' }]));
    const ofTheOther = kind.startsWith('microblog') ? 'totalShots' : 'totalPost';
    expect(faultyMembers({ ...wrong, [ofTheOther]: undefined })).toEqual(ORDERS[kind].split(' '));
  });

  test('requires an id, and a user name or an owner and a date', () => {
    for (const member of Object.keys(SAMPLES[kind]).filter((name) => !name.startsWith('total')))
      expect(faults({ ...SAMPLES[kind], [member]: null })).toEqual([
        { member, reason: expect.stringMatching(/^is missing/), got: 'null' },
      ]);
  });
});

const ID_WORDS = 'a whole number';
type Spot = readonly [kind: Kind, member: string];
const COUNT: Spot = ['microblog profile', 'totalFollowers'];
const FLAG: Spot = ['post', 'status'];
const ID: Spot = ['post', 'id'];
const LINK: Spot = ['post', 'photo'];
const DATE: Spot = ['post', 'date'];
const TOKEN: Spot = ['post', 'token_id'];
const NAME: Spot = ['microblog profile', 'username'];
const TEXT: Spot = ['post', 'post_details'];
const TAGS: Spot = ['shot', 'tags'];
const PROJECT_DATE: Spot = ['shot', 'created_project'];

const give = ([kind, member]: Spot, value: unknown) => ({ ...SAMPLES[kind], [member]: value });

describe('accepted values', () => {
  test.each<[of: Spot, ...given: string[]]>([
    [COUNT, '0012', ''],
    [ID, '9223372036854775807'],
    [LINK, 'http://a.example', 'HTTPS://A.example:8080/x?y=%20#z', 'https://日本.example/写真'],
    [LINK, 'http://[::1]/"quoted"', 'http://127.0.0.1/', ''],
    [DATE, '2000-02-29 00:00:00', '2024-02-29 23:59:59', '0001-01-31 00:00:00'],
    [DATE, '0000-00-00 00:00:00'],
    [PROJECT_DATE, ''],
    [TAGS, 'as, it is'],
    [TOKEN, 'a'.repeat(40), ''],
    [NAME, '__proto__'],
    [TEXT, 'a\u0000b\nc\td\u007f', 'pair \ud83d\uddfa', '"\\/\u2028'],
  ])('%s: %j is kept as it is', (of, ...values) => {
    for (const given of values) expect(record(give(of, given))[of[1]]).toBe(given);
  });

  test.each<[of: Spot, given: unknown, becomes: string]>([
    [COUNT, 12, '12'],
    [COUNT, 2 ** 53 - 1, '9007199254740991'],
    [COUNT, 12345678901234567890n, '12345678901234567890'],
    [COUNT, true, '1'],
    [FLAG, false, '0'],
    [FLAG, 2, '2'],
    [ID, 1, '1'],
    [ID, 9007199254740993n, '9007199254740993'],
    [PROJECT_DATE, '2026-02-28T10:00:00Z', '2026-02-28 10:00:00'],
    [DATE, '2026-02-28T10:00:00', '2026-02-28 10:00:00'],
    [DATE, '2026-02-28', '2026-02-28 00:00:00'],
    [DATE, '2026-02-28T10:00:00.123456789Z', '2026-02-28 10:00:00'],
    [DATE, '2026-02-28t10:00:59,5z', '2026-02-28 10:00:59'],
    [DATE, '2026-02-28T10:00Z', '2026-02-28 10:00:00'],
    [DATE, '2026-02-28 10:00:00Z', '2026-02-28 10:00:00'],
    [DATE, '2026-03-01T00:30:00+02:00', '2026-02-28 22:30:00'],
    [DATE, '2025-12-31 23:30:00-0130', '2026-01-01 01:00:00'],
    [DATE, '2024-02-29T23:00:00-05', '2024-03-01 04:00:00'],
    [DATE, '0050-01-01T00:00:00+01:00', '0049-12-31 23:00:00'],
    [DATE, '0000-00-00T00:00:00Z', '0000-00-00 00:00:00'],
    [TAGS, ['type', 'print'], 'type,print'],
    [TAGS, ['one', '', 2, true], 'one,2,1'],
    [TAGS, [], ''],
    [NAME, 7, '7'],
    [TEXT, 'lone \ud800 and \udc00', 'lone \ufffd and \ufffd'],
    [TEXT, -1.5, '-1.5'],
    [TEXT, true, '1'],
  ])('%s: %o is %j', (of, given, becomes) => {
    expect(record(give(of, given))[of[1]]).toBe(becomes);
  });
});

describe('JSON numbers keep their digits', () => {
  test.each<[of: Spot, written: string, becomes: string]>([
    [TEXT, '9.90', '9.90'],
    [TEXT, '10.00', '10.00'],
    [TEXT, '1e2', '1e2'],
    [TEXT, '-0', '-0'],
    [TEXT, '1E400', '1E400'],
    [TEXT, '0.1000000000000000055511151231257827', '0.1000000000000000055511151231257827'],
    [COUNT, '9007199254740993', '9007199254740993'],
    [COUNT, '9007199254740996', '9007199254740996'],
    [COUNT, '12.0', '12'],
    [COUNT, '1e2', '100'],
    [COUNT, '-0', '0'],
    [ID, '9223372036854775807', '9223372036854775807'],
    [ID, '7.0', '7'],
  ])('%s: %s is %j', (of, written, becomes) => {
    expect(record(give(of, parseKeepingDigits(written)))[of[1]]).toBe(becomes);
  });

  test.each<[of: Spot, written: string]>([
    [COUNT, '9.90'],
    [COUNT, '1e400'],
    [ID, '12345678901234567890.0'],
  ])('%s: %s is refused as written', (of, written) => {
    const [fault] = faults(give(of, parseKeepingDigits(written)));
    expect(fault).toMatchObject({ member: of[1], got: written });
  });
});

describe('refused values', () => {
  const DECIMAL = 'whole number, not negative';
  const REAL = 'real date';
  test.each<[of: Spot, reason: string, ...given: unknown[]]>([
    [COUNT, DECIMAL, '-1', '1.5', ' 1', '١', -1, '9'.repeat(41)],
    [COUNT, 'too large', 1e21, 2 ** 53],
    [COUNT, 'must be text', Number.NaN],
    [COUNT, 'not an array', []],
    [COUNT, 'not an object', {}],
    [FLAG, DECIMAL, 'yes'],
    [ID, ID_WORDS, '0', '01', '9223372036854775808', '10000000000000000000', '', '1 ', '1\n', false],
    [ID, 'missing', null],
    [LINK, 'absolute http', 'a.example', '//a.example', 'ftp://a.example', 'javascript:alert(1)', 'http://'],
    [LINK, 'absolute http', 'http://a.example/a b', 'http://a.example/\n', 'http://a.example/\u0085'],
    [LINK, 'absolute http', 'https://a..example:x/'],
    [DATE, REAL, '', '2023-02-29 00:00:00', '1900-02-29 00:00:00', '2024-04-31 00:00:00'],
    [DATE, REAL, '2024-13-01 00:00:00', '2024-00-01 00:00:00', '2024-01-00 00:00:00', '0000-01-01 00:00:00'],
    [DATE, REAL, '2024-01-01 24:00:00', '2024-01-01 00:60:00', '2024-01-01 00:00:60', '2023-02-29T00:00:00Z'],
    [DATE, REAL, '2024-01-01T24:00:00Z', '2024-01-01T00:00:60Z', '2024-01-01T00:00:00+24:00'],
    [DATE, REAL, '2024-01-01T00:00:00+02:60', '2024-01-01T00:00:00 CET', '0001-01-01T00:00:00+02:00'],
    [DATE, REAL, '9999-12-31T23:00:00-02:00', '20240101T000000Z', 1714000000, '2023-02-29'],
    [DATE, REAL, '2024-01-01 00:00:00\n'],
    [DATE, 'not an array', ['2024-01-01 00:00:00']],
    [PROJECT_DATE, REAL, 'never'],
    [TAGS, 'without commas', ['a,b'], ['a', ['b']]],
    [TAGS, 'array of texts', { a: 'b' }],
    [TEXT, 'not an array', ['a', 'b']],
    [TOKEN, '40 lower-case', 'A'.repeat(40), 'a'.repeat(39), 'a'.repeat(41)],
    [NAME, 'empty', ''],
  ])('%s: %s', (of, reason, ...values) => {
    for (const given of values)
      expect([given, faults(give(of, given))]).toEqual([
        given,
        [expect.objectContaining({ member: of[1], reason: expect.stringContaining(reason) })],
      ]);
  });
});

describe('the kind is recognised by the members', () => {
  test.each<[raw: Raw, kind: Kind]>([
    [{ id: '1', user: '2', date: '2024-01-01 00:00:00', title: 'x' }, 'post'],
    [{ id: '1', user_id: '2', date: '2024-01-01 00:00:00', photo: '' }, 'shot'],
    [{ id: '1', username: 'a', country: 'pt' }, 'microblog profile'],
    [{ id: '1', username: 'a', skills: '' }, 'portfolio profile'],
    [{ id: '1', username: 'a', Likes: 0, Lists: 0, verified: '1' }, 'portfolio profile'],
  ])('%j is a %s', (raw, kind) => {
    expect(row(raw).kind).toBe(kind);
  });

  test.each<[raw: unknown, reason: string]>([
    [{ id: '1', username: 'a' }, 'fits both families'],
    [{ id: '1', username: 'a', verified: '1', skills: 'x' }, 'fits both families'],
    [{}, 'must have username'],
    [{ id: '1', date: '2024-01-01 00:00:00' }, 'must have username'],
    [[], 'must be an object'],
    [null, 'must be an object'],
    ['text', 'must be an object'],
    [7, 'must be an object'],
    [undefined, 'must be an object'],
  ])('%o: %s', (raw, reason) => {
    const found = faults(raw);
    expect(found.map(({ member }) => member)).toEqual(['record']);
    expect(found[0]?.reason).toContain(reason);
  });
});

test('a given family decides about profiles that fit both, and about nothing else', () => {
  const kindsOf = (raw: Raw) =>
    (['microblog', 'portfolio'] as const).map((family) => {
      const result = normalise(raw, undefined, family);
      return 'row' in result ? result.row.kind : result.faults[0]?.reason;
    });
  const both = ['microblog profile', 'portfolio profile'];
  expect(kindsOf({ id: '1', username: 'a' })).toEqual(both);
  expect(kindsOf({ id: '1', username: 'a', verified: '1', skills: 'x' })).toEqual(both);
  expect(kindsOf({ id: '1', username: 'a', country: 'pt' })).toEqual([both[0], both[0]]);
  expect(kindsOf(SAMPLES.shot)).toEqual(['shot', 'shot']);
  for (const reason of kindsOf({ id: '1' })) expect(reason).toContain('must have username');
});

describe('the keys of a row', () => {
  test.each([
    ['ADA', 'ada'],
    ['E\u0301lan', '\u00e9lan'],
    ['İ', 'i\u0307'],
    ['ΝΙΚΟΣ', 'νικοσ'],
    ['日本', '日本'],
    ['constructor', 'constructor'],
  ])('user %j has the key %j and keeps its spelling', (username, key) => {
    const found = row({ ...SAMPLES['microblog profile'], username });
    expect([found.userKey, JSON.parse(found.record).username]).toEqual([key, username]);
    expect([found.owner, found.date]).toEqual(['', '']);
  });

  test('an item has its owner and date, numbers included', () => {
    const found = row({ id: 5, user_id: 9223372036854775807n, date: '2024-01-01 00:00:00', user: undefined });
    expect([found.id, found.owner, found.date, found.userKey]).toEqual([
      '5',
      '9223372036854775807',
      '2024-01-01 00:00:00',
      '',
    ]);
  });
});

test('an item of an ISO date is kept under the date in UTC', () => {
  const raw = { id: '1', user: '2', date: '2026-03-01T00:30:00+02:00' };
  expect(row(raw).date).toBe('2026-02-28 22:30:00');
  expect(row(raw)).toEqual(row({ ...raw, date: '2026-02-28 22:30:00' }));
  expect(raw.date).toBe('2026-03-01T00:30:00+02:00');
});

test('members like __proto__ and toString are ignored', () => {
  const raw = JSON.parse(
    '{"__proto__":{"username":"evil","id":"7"},"toString":"x","id":"1","user":"2","date":"2024-01-01 00:00:00"}',
  );
  expect(row(raw).record).toBe(row({ id: '1', user: '2', date: '2024-01-01 00:00:00' }).record);
  expect(({} as Raw).username).toBeUndefined();
});

test('a record may have 64 KiB as JSON, and not a byte more', () => {
  const bare = Buffer.byteLength(row(give(TEXT, '')).record);
  for (const [letter, bytes] of [
    ['x', 1],
    ['é', 2],
    ['\n', 2],
    ['\u0001', 6],
    ['日', 3],
  ] as const) {
    const room = MAX_RECORD_BYTES - bare;
    const full = letter.repeat(Math.floor(room / bytes)) + 'x'.repeat(room % bytes);
    expect(Buffer.byteLength(row(give(TEXT, full)).record)).toBe(MAX_RECORD_BYTES);
    expect(faults(give(TEXT, `${full}x`))).toEqual([
      { member: 'record', reason: 'must be at most 65536 bytes as JSON', got: '65537 bytes' },
    ]);
  }
});

test.each([
  [undefined, ''],
  ['plain', 'plain'],
  ['a\u0000b\u001b[31m\u2028', 'a\ufffdb\ufffd[31m\ufffd'],
  ['\u009b31m \u0085 \u202e', '\ufffd31m \ufffd \ufffd'],
  [`${'x'.repeat(59)}🗺`, `${'x'.repeat(59)}\ufffd…`],
  [parseKeepingDigits('[9.90]'), '[9.90]'],
  ['x'.repeat(61), `${'x'.repeat(60)}…`],
  [12n, '12'],
  [{ a: [1] }, '{"a":[1]}'],
  ['\ud800', '\ufffd'],
])('a message quotes %o as %j', (value, quoted) => {
  expect(brief(value)).toBe(quoted);
});
