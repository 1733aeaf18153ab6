// The record schemas: TypeBox's compiler and `normalise` agree on every record in its wire form.
import { type TString, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FILE_MEMBERS, KIND_NAMES, PICTURE_MEMBERS } from '../../src/records/kinds.ts';
import { normalise } from '../../src/records/normalise.ts';
import { SCHEMAS } from '../../src/records/schemas.ts';

const VALUES: Record<string, readonly string[]> = {
  digits: ['0', '7', '0012', '', '-1', '1.5', ' 1', '1\n', '١', 'yes', '9'.repeat(400)],
  id: ['1', '9223372036854775807', '9223372036854775808', '0', '01', '', '1 ', '99999999999999999999'],
  url: [
    ...[
      '',
      'https://a.example/x?y=1',
      'HTTP://A.example:80/#z',
      'https://日本.example/写真',
      'http://[::1]/',
    ],
    ...[
      'http://',
      'http:///x',
      'ftp://a.example',
      '//a.example',
      'http://a b',
      'http://a/\u0085',
      'http://a..b:x/',
    ],
    ...['https://a.example/\n', ' https://a.example/', 'javascript:alert(1)', 'https://a.example/\u00a0'],
  ],
  date: [
    ...['2024-02-29 23:59:59', '2023-02-29 00:00:00', '0000-00-00 00:00:00', '0000-01-01 00:00:00', ''],
    ...['1900-02-29 00:00:00', '2000-02-29 00:00:00', '2024-04-31 00:00:00', '2024-13-01 00:00:00'],
    ...['0001-01-01 00:00:00', '2024-01-01 24:00:00', '2024-01-01', '2024-01-01 00:00:00\n'],
  ],
  token: ['', 'a'.repeat(40), '0'.repeat(40), 'A'.repeat(40), 'a'.repeat(39), 'a'.repeat(41)],
  name: [
    'ada',
    'x'.repeat(255),
    'x'.repeat(256),
    '🗺'.repeat(255),
    'e\u0301'.repeat(255),
    '',
    'a\tb',
    '\ud800',
  ],
  text: ['', 'any\u0000thing', '🗺', '\ud800', '<script>'],
};
const known = fc.constantFrom(...Object.values(VALUES).flat());
const value = fc.oneof({ weight: 4, arbitrary: known }, fc.string(), fc.string({ unit: 'binary' }));

/** A legal value of each form, so that one wrong member decides. */
const LEGAL: Record<string, string> = {
  text: 'text',
  list: 'a,b',
  name: 'ada',
  count: '1',
  flag: '0',
  id: '5',
  url: 'https://a.example/',
  'date-time': '2024-02-29 23:59:59',
  token: 'a'.repeat(40),
};

describe.each(KIND_NAMES)('%s', (kind) => {
  const schema = SCHEMAS[kind];
  const members = Object.entries(schema.properties as Record<string, TString>);
  const compiled = TypeCompiler.Compile(Type.Object({ ...schema.properties }));
  const legal = Object.fromEntries(members.map(([member, { 'x-form': form }]) => [member, LEGAL[form]]));
  const accepts = (record: object) => 'row' in normalise(record, kind);

  test('is an object of strings with nothing optional', () => {
    expect(schema.required).toEqual(Object.keys(schema.properties));
    for (const [member, { type }] of members) expect({ member, type }).toEqual({ member, type: 'string' });
  });

  test('its dates are described as UTC', () => {
    for (const [member, { 'x-form': form, description }] of members)
      if (form === 'date-time')
        expect({ member, description }).toEqual({ member, description: expect.stringContaining('UTC') });
  });

  test('its pictures and files are members with addresses', () => {
    for (const name of [...PICTURE_MEMBERS[kind], ...FILE_MEMBERS[kind]])
      expect([name, (schema.properties as Record<string, TString>)[name]?.['x-form']]).toEqual([name, 'url']);
  });

  test('a legal record passes, and its text is the same record', () => {
    const result = normalise(legal, kind);
    expect(compiled.Check(legal)).toBe(true);
    expect('row' in result && JSON.parse(result.row.record)).toEqual(legal);
  });

  /** Imports take a date without its time, and add midnight. */
  function isWire(member: string, text: string): boolean {
    const isDate = (schema.properties as Record<string, TString>)[member]?.['x-form'] === 'date-time';
    return compiled.Check({
      ...legal,
      [member]: isDate ? text.replace(/^\d{4}-\d\d-\d\d$/, '$& 00:00:00') : text,
    });
  }

  test.each(members.map(([member]) => member))('%s: schema and normalise agree', (member) => {
    fc.assert(
      fc.property(value, (text) => {
        expect([text, accepts({ ...legal, [member]: text })]).toEqual([text, isWire(member, text)]);
      }),
      { numRuns: 300 },
    );
    for (const text of Object.values(VALUES).flat()) {
      expect([text, accepts({ ...legal, [member]: text })]).toEqual([text, isWire(member, text)]);
    }
  });

  test('the schema accepts the default of an absent member, and an empty member', () => {
    for (const [member, { default: absent, ...rules }] of members) {
      const check = TypeCompiler.Compile(rules as TString);
      if (absent === undefined) expect([member, check.Check('')]).toEqual([member, false]);
      else expect([member, check.Check(''), check.Check(absent)]).toEqual([member, true, true]);
    }
  });

  // Validators of other languages and Ajv compile patterns in Unicode mode.
  test('every pattern gives the same verdict with and without the u flag', () => {
    for (const [, { pattern }] of members) {
      if (pattern === undefined) continue;
      for (const text of Object.values(VALUES)
        .flat()
        .filter((text) => text.isWellFormed()))
        expect([text, new RegExp(pattern, 'u').test(text)]).toEqual([text, new RegExp(pattern).test(text)]);
    }
  });
});
