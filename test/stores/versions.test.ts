// Two schemas never carry one version number: operators tell them apart by `vitrine --version`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { schemaOf } from '../../src/stores/sql/migrations.ts';
import { ROOT } from '../support/files.ts';

/** The schemas of each version. Only the row of the coming version, the last one, may change. */
const SCHEMAS: Record<string, { sqlite: number; postgres: number }> = {
  '1.1.0': { sqlite: 9, postgres: 7 },
  '1.2.0': { sqlite: 12, postgres: 10 },
  '1.3.0': { sqlite: 19, postgres: 16 },
};

test('package.json, lock file, changelog and schema have the same version', () => {
  const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
  const { version } = JSON.parse(read('package.json'));
  expect(Object.keys(SCHEMAS).at(-1)).toBe(version);
  expect(SCHEMAS[version]).toEqual({
    sqlite: schemaOf('sqlite').current,
    postgres: schemaOf('postgres').current,
  });
  expect(JSON.parse(read('package-lock.json'))).toMatchObject({ version, packages: { '': { version } } });
  expect(/^## (\S+)/m.exec(read('src/guides/changelog.md'))?.[1]).toBe(version);
});
