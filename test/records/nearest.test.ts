// Which name was probably meant: how many letters may differ follows the length of the known name.
import { expect, test } from 'vitest';
import { nearest } from '../../src/records/nearest.ts';

test.each([
  ['letter case', 'Port', 'PORT', 'PORT'],
  ['one letter more, of four', 'portt', 'port', 'port'],
  ['two letters more, of eight', 'log_levelly', 'logLevel', undefined],
  ['one letter more, of eight', 'loglevell', 'logLevel', 'logLevel'],
  ['two letters more, of nine', 'media_dirXY', 'media_dir', 'media_dir'],
  ['three letters more, of nine', 'media_dirXYZ', 'media_dir', undefined],
  ['two letters swapped', 'prot', 'port', 'port'],
  ['two letters replaced, of nine', 'mexia_dix', 'media_dir', 'media_dir'],
  ['one letter less', 'por', 'port', 'port'],
])('%s: %s of %s', (_difference, name, known, found) => {
  expect(nearest(name, ['quite another', known])).toBe(found);
});

test('of short names only the letter case may differ', () => {
  expect(nearest('HOST', ['HOME'], 5)).toBeUndefined();
  expect(nearest('host', ['HOST'], 5)).toBe('HOST');
});

test('the nearest is found, not the first that is near', () => {
  expect(nearest('media_dir', ['media_dirs', 'Media_Dir'])).toBe('Media_Dir');
});
