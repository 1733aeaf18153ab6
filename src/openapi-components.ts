// The parts that the OpenAPI document's operations share: the records, the lists, the headers and the errors.
import type { TObject, TSchema } from '@sinclair/typebox';
import { ERROR_CODES, ErrorBody, type ErrorCode, FAILURES } from './errors.ts';
import { type Family, itemsBody, MicroblogProfile, PortfolioProfile, Post, Shot } from './records.ts';

export const reference = (room: 'schemas' | 'responses' | 'headers', name: string) => ({
  $ref: `#/components/${room}/${name}`,
});

export interface Shown {
  readonly family: Family;
  readonly list: string;
  readonly collection: string;
}

const RECORDS = {
  microblog: { profile: MicroblogProfile, item: Post },
  portfolio: { profile: PortfolioProfile, item: Shot },
} satisfies Record<Family, { profile: TObject; item: TObject }>;

/** What the operations of these variants refer to, and nothing else. */
export function componentsFor(variants: readonly Shown[]) {
  const schemas: Record<string, object> = {};
  const add = (schema: TSchema) => {
    schemas[schema.$id as string] ??= plain(schema);
  };
  for (const { family, list, collection } of variants) {
    const { profile, item } = RECORDS[family];
    for (const schema of [profile, item, itemsBody(list, collection, item)]) add(schema);
  }
  add(ErrorBody);
  const style = variants.some(({ family }) => family === 'microblog') ? RESPONSES : PATH_RESPONSES;
  const pathless = variants.every(({ family }) => family === 'microblog');
  return { schemas, responses: pathless ? QUERY_RESPONSES : style, headers: HEADERS };
}

/** A schema as readers take it: without what is only meant for the way in. */
function plain(schema: unknown): object {
  return JSON.parse(
    JSON.stringify(schema, function (this: { anyOf?: { const: string }[] }, key, value) {
      if (key === 'x-form' || key === 'default' || key === '$id') return undefined;
      if (key === '$ref') return `#/components/schemas/${value}`;
      if (value?.anyOf?.every((one: { const?: string }) => typeof one.const === 'string')) {
        const { anyOf, ...rest } = value;
        return { type: 'string', ...rest, enum: anyOf.map((one: { const: string }) => one.const) };
      }
      return value;
    }),
  );
}
