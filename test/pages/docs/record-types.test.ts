// The types that are served: of records and bodies, which are the package's `vitrine/types` as well, and of the card. They say
// what the schemas and the table of variants say: `-u` writes them again.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TObject } from '@sinclair/typebox';
import { expect, test } from 'vitest';
import { ERROR_CODES, ErrorBody } from '../../../src/api/http/errors.ts';
import { MicroblogProfile, PortfolioProfile, Post, Shot } from '../../../src/records/schemas.ts';
import { VARIANT_NAMES, VARIANTS } from '../../../src/variants.ts';
import { ROOT } from '../../support/files.ts';

const WEB = join(ROOT, 'src/pages/web');
const ITEMS = { microblog: 'Post', portfolio: 'Shot' };
const STRING = () => 'string';

test('types.d.ts has each member of each schema, and its description', async () => {
  const types = [
    '// Records and bodies of the API. Every value is a string, as in the responses.',
    ...[MicroblogProfile, Post, PortfolioProfile, Shot].map((schema) =>
      declare(schema.$id as string, schema, STRING),
    ),
    ...Object.entries(VARIANTS).map(([variant, { family, collection }]) =>
      [
        `/** The list of variant ${variant.toUpperCase()}: the newest 15, newest first. */`,
        `export interface Items${variant.toUpperCase()} {`,
        `  ${collection}: ${ITEMS[family]}[];`,
        '}',
      ].join('\n'),
    ),
    `export type ErrorCode =\n${ERROR_CODES.map((code) => `  | '${code}'`).join('\n')};`,
    declare('ApiError', ErrorBody, (name) => (name === 'code' ? 'ErrorCode' : 'string')),
  ].join('\n\n');
  await expect(`${types}\n`).toMatchFileSnapshot(join(WEB, 'types.d.ts'));
});

test('embed.d.ts, the types of the card, has each variant', async () => {
  const types = readFileSync(join(WEB, 'embed.d.ts'), 'utf8');
  const union = VARIANT_NAMES.map((name) => `'${name}'`).join(' | ');
  await expect(types.replace(/(?<=^ {2}variant\?: ).*(?= \| undefined;$)/m, union)).toMatchFileSnapshot(
    join(WEB, 'embed.d.ts'),
  );
});

function declare(name: string, schema: TObject, typeOf: (member: string) => string): string {
  const members = Object.entries(schema.properties).map(
    ([member, { description }]) => `  /** ${description} */\n  ${member}: ${typeOf(member)};`,
  );
  return [`/** ${schema.description} */`, `export interface ${name} {`, ...members, '}'].join('\n');
}
