// User names: which are legal, and which spellings are the same user.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isTooLong,
  ORDINARY_RANGES,
  takedownKey,
  UserName,
  userKey,
  userNameFault,
} from '../../src/records/user-name.ts';
import { ROOT } from '../support/files.ts';

describe('the key for takedowns', () => {
  const INVISIBLE = [
    // Default_Ignorable_Code_Point of Unicode, and format characters.
    ...[
      '\u00ad',
      '\u034f',
      '\u061c',
      '\u115f',
      '\u1160',
      '\u17b4',
      '\u180b',
      '\u180e',
      '\u200b',
      '\u200e',
      '\u2060',
    ],
    ...[
      '\u2064',
      '\u206f',
      '\u3164',
      '\ufe0f',
      '\ufeff',
      '\uffa0',
      '\ufff9',
      '\u{1bca0}',
      '\u{1d173}',
      '\u{e0020}',
    ],
    '\u{e0100}',
    // Those that have a width, or a place for something else, and no ink.
    ...['\u2800', '\ufffc', '\u{1d159}', '\u{16fe4}'],
  ];

  test.each(INVISIBLE.map((char) => [char.codePointAt(0)?.toString(16), char]))(
    'leaves out U+%s, which cannot be seen',
    (_, char) => {
      const spellings = [`mi${char}ra`, `${char}mira`, `mira${char}`, `MIRA ${char}`];
      expect(spellings.map((name) => takedownKey(userKey(name)))).toEqual(spellings.map(() => 'mira'));
    },
  );

  test('keeps what can be seen', () => {
    for (const name of ['mi ra', 'mirá', 'мira', 'mira_', 'm·ira'])
      expect(takedownKey(userKey(name))).not.toBe('mira');
  });
});

test('a key of ordinary characters is its own key for takedowns', () => {
  const ranges = [...ORDINARY_RANGES.matchAll(/(.)-(.)/gu)].map(([, from, to]) =>
    [from, to].map((char) => char?.codePointAt(0) as number),
  ) as [number, number][];
  const chars = ranges.flatMap(([from, to]) =>
    Array.from({ length: to - from + 1 }, (_, n) => String.fromCodePoint(from + n)),
  );
  const isOrdinary = new RegExp(`^[${ORDINARY_RANGES}]+$`, 'u');
  const keys = (char: string) => [userKey(char), userKey(`a${char}b`)];
  for (const key of chars.flatMap(keys))
    if (isOrdinary.test(key) && key !== ' ') expect(takedownKey(key)).toBe(key);
  const name = fc.array(fc.constantFrom(...chars), { minLength: 1 }).map((some) => some.join(''));
  fc.assert(
    fc.property(name, (some) => {
      const key = userKey(some).trim().replace(/ +/g, ' ');
      if (isOrdinary.test(key)) expect(takedownKey(key)).toBe(key);
    }),
  );
});

describe('the key', () => {
  test.each([
    ['ΝΙΚΟΣ', 'νικος', 'νικοσ', 'Νικος'],
    ['Groß', 'GROSS', 'gross', 'GROẞ'],
    ['ﬁn', 'FIN', 'fin'],
    ['İ', 'i\u0307', 'I\u0307'],
    ['Å', '\u212b', 'A\u030a', 'a\u030a'],
    ['\u1fb7', '\u03b1\u0342\u0345', '\u03b1\u0342\u03b9', '\u0391\u0342\u0399'],
    ['Ꮳ', 'ꮳ'],
    ['ſtein', 'Stein'],
  ])('%s is the same user as %s', (...names) => {
    expect(new Set(names.map(userKey)).size).toBe(1);
  });

  test.each([
    ['ısık', 'isik'],
    ['Zoë', 'Zoe'],
    ['а', 'a'],
    ['２', '2'],
    ['a b', 'ab'],
  ])('%s is another user than %s', (one, other) => {
    expect(userKey(one)).not.toBe(userKey(other));
  });

  test('of an ASCII name is the name in lower case', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii' }), (name) => userKey(name) === name.toLowerCase()),
    );
  });

  const SHARP_AND_OTHER_EXPANSIONS = 'ßẞŉǰΐΰևẖẗẘẙẚὐὒᾳᾴᾶᾷᾼῃῳﬀﬁﬂﬃﬄﬅﬆﬓﬔﬕﬖﬗ'.normalize('NFC');
  const letters = fc.oneof(
    fc.constantFrom(...'ΣσςIiıİſKkÅåµμẞßᏣꮳǅǆԱ\u0345\u0301\u0307\u0327e', ...SHARP_AND_OTHER_EXPANSIONS),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
  );
  const names = fc.array(letters, { minLength: 1, maxLength: 12 }).map((all) => all.join(''));

  test('survives case mapping, Unicode normalisation and a second pass', () => {
    fc.assert(
      fc.property(names, (name) => {
        const key = userKey(name);
        expect(userKey(key)).toBe(key);
        for (const form of ['NFC', 'NFD'] as const) expect(userKey(name.normalize(form))).toBe(key);
        expect(userKey(name.toLowerCase())).toBe(key);
        // ı is the only letter whose capital folds to another letter. NFD first: upper-casing moves U+0345.
        if (!name.includes('ı')) expect(userKey(name.normalize('NFD').toUpperCase())).toBe(key);
      }),
      { numRuns: 2000 },
    );
  });

  test('joins only characters that Unicode folds together', () => {
    const byKey = Map.groupBy(charactersWithCaseOrForms(), userKey);
    expect(byKey.size).toBeGreaterThan(1000);
    for (const [key, [first, ...others]] of byKey) {
      // ß and its like fold to several letters, which the flag `i` does not do.
      if ([...key.normalize('NFD')].length > [...(first as string).normalize('NFD')].length) continue;
      // The flags `iu` fold each character to one other; canonical equivalents are compared in NFD.
      const pattern = new RegExp(`^${escapes((first as string).normalize('NFD'))}$`, 'iu');
      for (const other of others)
        expect([first, other, pattern.test(other.normalize('NFD'))]).toEqual([first, other, true]);
    }
  });
});

function charactersWithCaseOrForms(): string[] {
  const characters: string[] = [];
  for (let code = 0; code < 0x110000; code++) {
    const character = String.fromCodePoint(code);
    const variants = [character.toLowerCase(), character.toUpperCase(), character.normalize('NFD')];
    if (character.isWellFormed() && variants.some((variant) => variant !== character))
      characters.push(character);
  }
  return characters;
}

const escapes = (text: string) =>
  [...text].map((character) => `\\u{${character.codePointAt(0)?.toString(16)}}`).join('');

describe('a legal name', () => {
  const schema = TypeCompiler.Compile(UserName);

  const NFD_E = 'é'.normalize('NFD');
  test.each([
    ['empty', '', 'must not be empty'],
    ['256 letters', 'x'.repeat(256), 'must have at most 255 characters'],
    ['256 emoji', '🗺'.repeat(256), 'must have at most 255 characters'],
    ['256 letters in NFD', NFD_E.repeat(256), 'must have at most 255 characters'],
    ['a line break', 'a\nb', 'must not contain control characters'],
    ['a C1 control', 'a\u009b', 'must not contain control characters'],
    ['DEL', '\u007f', 'must not contain control characters'],
    ['half a surrogate pair', 'a\ud800', 'must be well-formed Unicode'],
  ])('is not %s', (_, name, fault) => {
    expect([userNameFault(name), schema.Check(name)]).toEqual([fault, false]);
  });

  test.each([
    ['a space', ' '],
    ['255 emoji', '🗺'.repeat(255)],
    ['255 letters in NFD', NFD_E.repeat(255)],
    ['a zero-width space', '\u200b'],
    ['HTML', '<script>'],
    ['two dots', '..'],
    ['an escape', '%00'],
  ])('may be %s', (_, name) => {
    expect([userNameFault(name), schema.Check(name)]).toEqual([undefined, true]);
  });
});

describe('at hosts that run code', () => {
  const program = readFileSync(join(ROOT, 'src/tools/publish/router.js'), 'utf8');
  const site = {
    rows: [
      ['/people/([^/?]*)', 'USER_NOT_FOUND', 'people/$1.html'],
      ['/api/\\?user=([^&]*)&post=true', 'USER_NOT_FOUND', 'api/$1.json'],
    ],
  };
  const source = `const SITE = ${JSON.stringify(site)};\n${program}`;

  test.each([
    ['a letter of the Basic Multilingual Plane, 255 times', 'é'.repeat(255)],
    ['with accents of their own', 'e\u0301'.repeat(255)],
    ['outside of that plane', '🗺'.repeat(255)],
    ['one too many', 'é'.repeat(256)],
    ['one too many with accents of their own', 'e\u0301'.repeat(256)],
    ['one too many outside of that plane', '🗺'.repeat(256)],
    ['a control character', 'a\u0007'],
  ])('a name is legal, too long or malformed as for the server: %s', async (_, name) => {
    const { route } = await import(`data:text/javascript,${encodeURIComponent(source)}`);
    const found = route('x', `/people/${encodeURIComponent(name)}`);
    const error = isTooLong(name) ? 'USER_TOO_LONG' : 'USER_MALFORMED';
    const file = `people/${encodeURIComponent(userKey(name))}.html`;
    expect(found).toEqual(userNameFault(name) === undefined ? { file, error: 'USER_NOT_FOUND' } : { error });
  });

  test('a name has the key that it has in the database', async () => {
    const { route } = await import(`data:text/javascript,${encodeURIComponent(source)}`);
    for (const name of [
      ...charactersWithCaseOrForms().filter((name) => name !== '/'),
      'ΝΙΚΟΣ',
      'νικος',
      'Σ Σ',
    ]) {
      const { file } = route('x', `/people/${encodeURIComponent(name)}`);
      expect({ name, file }).toEqual({ name, file: `people/${encodeURIComponent(userKey(name))}.html` });
    }
  });

  test('parameters have one order, and others do not count', async () => {
    const { route } = await import(`data:text/javascript,${encodeURIComponent(source)}`);
    for (const query of ['user=ada&post=true', 'post=true&user=ada', 'x=1&post=true&user=ad%61'])
      expect({ query, file: route('x', `/api/?${query}`).file }).toEqual({ query, file: 'api/ada.json' });
  });
});
