// TypeBox schemas of the routes -> the parts of the OpenAPI document: references, headers and examples.
import { readFileSync } from 'node:fs';
import type { TSchema } from '@sinclair/typebox';
import { ErrorBody, type ErrorCode, FAILURES } from '../http/errors.ts';
import { STATUS_CODES } from '../http/node-http.ts';
import { packageFile } from '../package-files.ts';
import type { Family } from '../records/kinds.ts';
import { LONGEST_USER_NAME, UserName } from '../records/user-name.ts';
import { variantBodies } from '../routes/lookup.ts';
import { VARIANTS, type Variant } from '../variants.ts';

const schemaRef = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** The named schemas of these variants: records, lists and the error body. */
export function namedSchemas(variants: readonly Variant[]): Record<string, object> {
  const bodies = variants.flatMap((variant) => {
    const { Profile, Items } = variantBodies(variant);
    const [list] = Object.values(Items.properties);
    return [Profile, (list as TSchema).items as TSchema, Items];
  });
  return Object.fromEntries([...bodies, ErrorBody].map((schema) => [schema.$id, plain(schema)]));
}

/** A schema as readers take it: with references to named schemas, and without defaults, since every member is present. */
function plain(schema: TSchema): object {
  const text = JSON.stringify(schema, (key, value) => {
    if (key === 'default' || key === '$id') return undefined;
    if (typeof value !== 'object' || value === null) return value;
    if (value.$id !== undefined && value !== schema) return schemaRef(value.$id);
    if (!Array.isArray(value.anyOf)) return value;
    const choices = value.anyOf.map((choice: TSchema) => choice.const);
    return { type: 'string', description: value.description, enum: choices };
  });
  return JSON.parse(text);
}

const header = (description: string, example: string) => ({
  type: 'string',
  description,
  examples: [example],
});

const CACHING = {
  'Cache-Control': header('How long the answer may be kept.', 'public, max-age=15'),
};
const LIMITING = {
  RateLimit: header(
    'What the client may still ask for, where the operator has set a limit.',
    '"default";r=599;t=60',
  ),
  'RateLimit-Policy': header('The limit, where the operator has set one.', '"default";q=600;w=60'),
};
const WAITING = { 'Retry-After': header('Seconds to wait before asking again.', '1') };
const SUCCESS_HEADERS = {
  ETag: header('Identifies the body: send it back as `If-None-Match`.', '"yJ5ZCIaZ0yN1hQ0b3S6w4g"'),
  ...CACHING,
  ...LIMITING,
};

/** The responses that a lookup declares, as @fastify/swagger takes them. */
export function describeResponses(variant: Variant, declared: Record<string, TSchema>) {
  const headers = SUCCESS_HEADERS;
  const entries = Object.entries(declared).map(([status, schema]) => {
    const { description } = schema;
    if (status === '304') return [status, { description, type: 'null', headers }];
    if (status !== '200') return [status, describeFailure(Number(status), schema['x-error-codes'])];
    const content = { 'application/json': describeBody(variant, schema) };
    return [status, { description, headers, content }];
  });
  return Object.fromEntries(entries);
}

function describeBody(variant: Variant, schema: TSchema) {
  const { family, collection } = VARIANTS[variant];
  const schemas: TSchema[] = schema.anyOf ?? [schema];
  const samples = sampleAnswers(family, collection);
  const { Profile } = variantBodies(variant);
  const examples = schemas.map(({ $id }) =>
    $id === Profile.$id ? (['profile', samples.profile] as const) : (['items', samples.items] as const),
  );
  const refs = schemas.map(({ $id }) => schemaRef($id as string));
  return {
    schema: refs.length === 1 ? refs[0] : { oneOf: refs },
    examples: Object.fromEntries(examples),
  };
}

/** A sample user's profile and newest items. */
function sampleAnswers(family: Family, collection: string) {
  const { profile, items } = JSON.parse(readFileSync(packageFile('fixtures/examples.json'), 'utf8'))[family];
  return {
    profile: { summary: 'A profile', value: profile as object },
    items: { summary: `Newest items (${items.length} of them)`, value: { [collection]: items as object[] } },
  };
}

function describeFailure(status: number, codes: readonly ErrorCode[]) {
  const examples = codes.map((code) => {
    const value = JSON.parse(FAILURES[code].body.toString()) as { message: string };
    return [code, { summary: value.message, value }] as const;
  });
  return {
    description:
      examples.length === 1 ? examples[0]?.[1].summary : `${STATUS_CODES[status]}: \`code\` names the error.`,
    headers: {
      ...CACHING,
      ...(status === 429 && LIMITING),
      ...([429, 503].includes(status) && WAITING),
    },
    content: {
      'application/json': { schema: schemaRef('ApiError'), examples: Object.fromEntries(examples) },
    },
  };
}

const USER_NAMES = {
  plain: { summary: 'A sample user', value: 'ada' },
  otherCase: { summary: 'Letter case does not matter', value: 'zoë' },
  otherScript: { summary: 'Any script will do', value: '日本の朝' },
};

/** A route's input for readers: the user name with its length and examples instead of our own format. */
export function inputSchema({ properties, ...rest }: TSchema) {
  const entries = Object.entries(properties as Record<string, TSchema>).map(([name, schema]) => {
    if (schema.format !== UserName.format) return [name, schema];
    const { format: _format, ...others } = schema;
    return [name, { ...others, maxLength: LONGEST_USER_NAME, 'x-examples': USER_NAMES }];
  });
  return { ...rest, properties: Object.fromEntries(entries) };
}
