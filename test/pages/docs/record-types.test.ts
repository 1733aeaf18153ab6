// The types of records and bodies, which are served as /types.d.ts and are the package's `vitrine/types`. They say what the
// schemas say: `-u` writes them again.
import type { TObject } from '@sinclair/typebox';
import { expect, test } from 'vitest';
import { ERROR_CODES, ErrorBody } from '../../../src/api/http/errors.ts';
import { MicroblogProfile, PortfolioProfile, Post, Shot } from '../../../src/records/schemas.ts';
import { VARIANTS } from '../../../src/variants.ts';

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
  await expect(`${types}\n`).toMatchFileSnapshot('../../../src/pages/web/types.d.ts');
});

function declare(name: string, schema: TObject, typeOf: (member: string) => string): string {
  const members = Object.entries(schema.properties).map(
    ([member, { description }]) => `  /** ${description} */\n  ${member}: ${typeOf(member)};`,
  );
  return [`/** ${schema.description} */`, `export interface ${name} {`, ...members, '}'].join('\n');
}
