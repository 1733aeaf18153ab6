// The OpenAPI document: @fastify/swagger reads the routes that serve; what a reader wants to know besides is added here.

import { readFileSync } from 'node:fs';
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import type { TSchema } from '@sinclair/typebox';
import type { FastifySchema } from 'fastify';
import { servesSamples } from '../../config/database-url.ts';
import type { Mount } from '../../config/mount.ts';
import { packageFile, VERSION } from '../../config/package-files.ts';
import { type Config, listMounts } from '../../config/settings.ts';
import { type Family, ITEM_CAP } from '../../records/kinds.ts';
import { LONGEST_USER_NAME, UserName } from '../../records/user-name.ts';
import { VARIANT_NAMES, VARIANTS, type Variant } from '../../variants.ts';
import { ErrorBody, type ErrorCode, FAILURES } from '../http/errors.ts';
import { STATUS_CODES } from '../http/node-http.ts';
import { variantBodies } from '../lookup.ts';
import type { ExampleUsers } from './example-users.ts';

/** As much of the document as is handled here. */
interface OpenApi {
  readonly paths?: Record<string, PathItem | undefined> | undefined;
}

interface PathItem {
  readonly get?: {
    readonly tags?: readonly string[];
    readonly parameters?: readonly object[];
    readonly responses?: object | undefined;
  };
}

const OVERVIEW = `Read-only lookups, by user name, of public profiles and of the newest ${ITEM_CAP} items each user published.

**Every value is a string**, counts, identifiers and flags included. An absent value is an empty string. Items come newest first, and a user without items has an empty list. The letter case of a user name does not matter.

**Errors** are JSON objects of strings as well. \`code\` is for programs, and \`message\` is for people. Methods other than GET, HEAD and OPTIONS get 405. Other addresses get 404 (\`ROUTE_NOT_FOUND\`).

**Caching** works with ETags. Each success has one. Send it back as \`If-None-Match\`, and while nothing has changed, the response is 304 without a body.

**Access** is free. No key is needed, and pages of other origins may read the responses unless the operator decides otherwise.`;

const tagName = (variant: Variant) => `Variant ${variant.toUpperCase()}`;

/** The schemas of a lookup, as its route has them. Fastify's type leaves them open. */
interface LookupSchema extends FastifySchema {
  readonly querystring?: TSchema;
  readonly params: TSchema;
  readonly response: Record<string, TSchema>;
}

/** How @fastify/swagger reads the routes; it has to be registered before them. */
export function openapiOptions(config: Config): FastifyDynamicSwaggerOptions {
  const mounts = listShown(config);
  const info = {
    title: 'Vitrine',
    summary: 'Public profiles and their latest work, as JSON.',
    description: OVERVIEW,
    version: VERSION,
    contact: { name: 'The operator of this server' },
    license: { name: 'MIT', identifier: 'MIT' },
  };
  return {
    openapi: { openapi: '3.1.0', info, security: [] },
    stripBasePath: false,
    transform({ url, schema, route }) {
      const { operation } = route.config ?? {};
      const { variant: served } = (typeof operation === 'function' ? operation({}) : operation) ?? {};
      const mount = mounts.find(({ variant }) => variant === served);
      if (mount === undefined || schema?.hide) return { url, schema: { hide: true } };
      // It is the route of a variant.
      const { querystring, params, response, ...words } = schema as LookupSchema;
      return {
        url,
        schema: {
          ...words,
          ...(mount.base.origin !== undefined && { servers: [{ url: mount.base.origin }] }),
          ...(querystring === undefined
            ? { params: inputSchema(params) }
            : { querystring: inputSchema(querystring) }),
          headers: { type: 'object', properties: { 'If-None-Match': IF_NONE_MATCH } },
          response: describeResponses(mount.variant, response),
        },
      };
    },
  };
}

const IF_NONE_MATCH = {
  type: 'string',
  description: 'The ETag of the body that the client has. While it is current, the response is 304.',
};

/** Of variants with the same paths on hosts of their own, the first is described. */
const listShown = (config: Config) =>
  listMounts(config).filter((mount, _, all) => mount === all.find((other) => samePaths(mount, other)));

export function createDocument(generated: OpenApi, config: Config, users: ExampleUsers): object {
  const shown = listShown(config);
  // The sample users stand in the generated document.
  const named = (item: PathItem = {}) => (servesSamples(config) ? item : withExamples(item, users));
  const paths = Object.entries(generated.paths ?? {}).map(([path, item]) => [path, named(item)] as const);
  const shared = shareResponses(paths);
  return {
    ...generated,
    servers: listServers(listMounts(config)),
    tags: shown.map(describeVariant),
    paths: Object.fromEntries(shared.paths),
    components: {
      schemas: namedSchemas(shown.map(({ variant }) => variant)),
      responses: shared.responses,
    },
  };
}

/** Each response that is not a success stands once in the document: lookups refer to it. */
function shareResponses(paths: readonly (readonly [string, PathItem])[]) {
  const names = new Map<string, string>();
  const responses: Record<string, object> = {};

  function refer([status, response]: readonly [string, object]): [string, object] {
    if (status.startsWith('2')) return [status, response];
    const text = JSON.stringify(response);
    let name = names.get(text);
    if (name === undefined) {
      const phrase = (STATUS_CODES[status] ?? status).replace(/\W/g, '');
      const same = Object.keys(responses).filter((other) => other.replace(/\d+$/, '') === phrase).length;
      name = same === 0 ? phrase : `${phrase}${same + 1}`;
      names.set(text, name);
      responses[name] = response;
    }
    return [status, { $ref: `#/components/responses/${name}` }];
  }

  const referring = paths.map(([path, { get }]) => {
    const entries = Object.entries(get?.responses ?? {}).map(refer);
    return [path, { get: { ...get, responses: Object.fromEntries(entries) } }] as const;
  });
  return { paths: referring, responses };
}

const describeVariant = ({ variant, base: { origin = '', path } }: Mount) => ({
  name: tagName(variant),
  description: `${VARIANTS[variant].about} Base address: \`${origin}${path || '/'}\`.`,
});

/** The parameters that have user names as examples, with other names. */
function withExamples({ get }: PathItem, users: ExampleUsers): PathItem {
  const variant = VARIANT_NAMES.find((name) => get?.tags?.includes(tagName(name)));
  const names = variant === undefined ? [] : users[VARIANTS[variant].family];
  const examples = Object.fromEntries(names.map((value, index) => [`user${index + 1}`, { value }]));
  const parameters = get?.parameters?.map((parameter) =>
    'examples' in parameter ? { ...parameter, examples } : parameter,
  );
  return { get: { ...get, parameters } };
}

const samePaths = (one: Mount, two: Mount) =>
  one.base.path === two.base.path && VARIANTS[one.variant].style === VARIANTS[two.variant].style;

/** `.` is where the document is: right as well behind a proxy that takes a prefix away. */
function listServers(mounts: readonly Mount[]) {
  const origins = mounts.map(({ base }) => base.origin ?? '.');
  return [...new Set(origins.includes('.') || origins.length === 0 ? ['.'] : origins)].map((url) => ({
    url,
  }));
}

// TypeBox schemas of the routes -> the parts of the document: references, headers and examples.

const schemaRef = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** The named schemas of these variants: records, lists and the error body. */
function namedSchemas(variants: readonly Variant[]): Record<string, object> {
  const bodies = variants.flatMap((variant) => {
    const { Profile, Item, Items } = variantBodies(variant);
    return [Profile, Item, Items];
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
function describeResponses(variant: Variant, declared: Record<string, TSchema>) {
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
  const refs = schemas.map(({ $id = '' }) => schemaRef($id));
  return {
    schema: refs.length === 1 ? refs[0] : { oneOf: refs },
    examples: Object.fromEntries(examples),
  };
}

type Samples = Readonly<Record<Family, { readonly profile: object; readonly items: readonly object[] }>>;

/** A sample user's profile and newest items. */
function sampleAnswers(family: Family, collection: string) {
  const samples: Samples = JSON.parse(readFileSync(packageFile('fixtures/examples.json'), 'utf8'));
  const { profile, items } = samples[family];
  return {
    profile: { summary: 'A profile', value: profile },
    items: { summary: `Newest items (${items.length} of them)`, value: { [collection]: items } },
  };
}

function describeFailure(status: number, codes: readonly ErrorCode[]) {
  const examples = codes.map((code) => {
    const value: { message: string } = JSON.parse(FAILURES[code].body.toString());
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
function inputSchema({ properties, ...rest }: TSchema) {
  const entries = Object.entries<TSchema>(properties).map(([name, schema]) => {
    if (schema.format !== UserName.format) return [name, schema];
    const { format: _format, ...others } = schema;
    return [name, { ...others, maxLength: LONGEST_USER_NAME, 'x-examples': USER_NAMES }];
  });
  return { ...rest, properties: Object.fromEntries(entries) };
}
