// `normalise` turns raw objects into records whose members are strings, or lists one fault per wrong member. Which values
// it takes and refuses is in fixtures/cases/records.txt.
import { describe, expect, test } from 'vitest';
import { MAX_RECORD_BYTES, normalise } from '../../src/records/normalise.ts';
import { brief } from '../../src/records/printable.ts';
import { parseKeepingDigits } from '../../src/records/scalar.ts';
import { MEMBERS } from '../../src/records/schemas.ts';
import { expectedRecord, type Kind, ORDERS, type Raw } from '../support/expected.ts';

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

  test('requires an id, and a user name or an owner and a date', () => {
    for (const member of Object.keys(SAMPLES[kind]).filter((name) => !name.startsWith('total')))
      expect(faults({ ...SAMPLES[kind], [member]: null })).toEqual([
        { member, reason: expect.stringMatching(/^is missing/), got: 'null' },
      ]);
  });
});

test('an empty count stays empty; zeros are "0"', () => {
  const values = ['', false, 0, parseKeepingDigits('-0')].map(
    (status) => record({ ...SAMPLES.post, status }).status,
  );
  expect(values).toEqual(['', '0', '0', '0']);
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
    expect({ userKey: found.userKey, username: JSON.parse(found.record).username }).toEqual({
      userKey: key,
      username,
    });
    expect(found).toMatchObject({ owner: '', date: '' });
  });

  test('an item has its owner and date, numbers included', () => {
    const found = row({ id: 5, user_id: 9223372036854775807n, date: '2024-01-01 00:00:00', user: undefined });
    expect(found).toMatchObject({
      id: '5',
      owner: '9223372036854775807',
      date: '2024-01-01 00:00:00',
      userKey: '',
    });
  });
});

test('an item of an ISO date is kept under the date in UTC', () => {
  const raw = { id: '1', user: '2', date: '2026-03-01T00:30:00+02:00' };
  expect(row(raw).date).toBe('2026-02-28 22:30:00');
  expect(row(raw)).toEqual(row({ ...raw, date: '2026-02-28 22:30:00' }));
  expect(raw.date).toBe('2026-03-01T00:30:00+02:00');
});

test('an ISO date of the last year of four digits is kept, and none that is later in UTC', () => {
  const dateOf = (date: string) => row({ id: '1', user: '2', date }).date;
  expect(dateOf('9999-12-31T23:59:59Z')).toBe('9999-12-31 23:59:59');
  expect(() => dateOf('9999-12-31T23:59:59-01:00')).toThrow('date');
});

const withText = (post_details: string) => ({ ...SAMPLES.post, post_details });

/** Those that were not given are empty, `0` or a date of zeros. */
const givenBytes = (record: string) => {
  const given = Object.entries<string>(JSON.parse(record)).filter(
    ([member, text]) => text !== MEMBERS.post[member]?.default,
  );
  return Buffer.byteLength(JSON.stringify(Object.fromEntries(given)));
};

test('a record may have 64 KiB as JSON, without absent members', () => {
  const bare = givenBytes(row(withText('x')).record) - 1;
  for (const [letter, bytes] of [
    ['x', 1],
    ['é', 2],
    ['\n', 2],
    ['\u0001', 6],
    ['日', 3],
  ] as const) {
    const room = MAX_RECORD_BYTES - bare;
    const full = letter.repeat(Math.floor(room / bytes)) + 'x'.repeat(room % bytes);
    expect(givenBytes(row(withText(full)).record)).toBe(MAX_RECORD_BYTES);
    expect(faults(withText(`${full}x`))).toEqual([
      { member: 'record', reason: 'must be at most 65536 bytes as JSON', got: '65537 bytes' },
    ]);
  }
});

test('a legal record stays legal when its kind gets a member', () => {
  const given = { id: '1', post_details: '', user: '2', date: '2026-01-01 00:00:00' };
  const room = MAX_RECORD_BYTES - Buffer.byteLength(JSON.stringify({ ...given, post_details: '' }));
  const { record } = row({ ...given, post_details: 'x'.repeat(room) });
  expect(Buffer.byteLength(record)).toBeGreaterThan(MAX_RECORD_BYTES);
  expect(row(JSON.parse(record)).record).toBe(record);
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
