// The OpenAPI document: what the routes of the variants ask for and answer, told for programs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import type { FastifySchema } from 'fastify';
import type { OpenAPIV3_1 } from 'openapi-types';
import type { BaseUrl, Config } from './config.ts';
import { componentsFor, ERROR_REFS, QUERY_ERROR_REFS, reference, SUCCESS_HEADERS } from './openapi-components.ts';
import { sampleAnswers } from './openapi-examples.ts';
import type { Operation } from './operations.ts';
import { type Family, ITEM_CAP } from './records.ts';

export type OpenApi = OpenAPIV3_1.Document;
type Variant = 'a' | 'b' | 'c';
type Lookup = 'profile' | 'items';

const OVERVIEW = `Read-only lookups of people's public profiles and of the newest ${ITEM_CAP} things they published, by user name.

**Every value is a string**, counts, identifiers and flags included; what is absent is an empty string. Items come newest first, and a user without any has an empty list. User names match whatever their letter case.

**Errors** are JSON objects of strings as well; \`code\` is made for programs and \`message\` for people. Any method but GET, HEAD and OPTIONS is answered 405, any other address 404 (\`ROUTE_NOT_FOUND\`).

**Caching**: every success has an ETag; sent back as \`If-None-Match\`, it is answered 304 without a body as long as nothing has changed. No key is needed, and pages of other origins may read the answers unless the operator has said otherwise.`;

interface VariantText {
  readonly name: string;
  readonly about: string;
  readonly family: Family;
  readonly profile: string;
  /** The item list's component, and its member. */
  readonly list: string;
  readonly collection: string;
}

export const VARIANTS: Record<Variant, VariantText> = {
  a: {
    name: 'Variant A',
    about: 'Microblogging: profiles and posts. The user, and whether posts are wanted, stand in the query.',
    family: 'microblog',
    profile: 'MicroblogProfile',
    list: 'ItemsA',
    collection: 'posts',
  },
  b: {
    name: 'Variant B',
    about: 'Design portfolios: profiles and shots, listed under `Shots`. The user stands in the path.',
    family: 'portfolio',
    profile: 'PortfolioProfile',
    list: 'ItemsB',
    collection: 'Shots',
  },
  c: {
    name: 'Variant C',
    about: 'Design portfolios: as variant B, but the shots are listed under `Posts`.',
    family: 'portfolio',
    profile: 'PortfolioProfile',
    list: 'ItemsC',
    collection: 'Posts',
  },
};

export const basesOf = ({ baseUrlA, baseUrlB, baseUrlC }: Config) =>
  Object.entries({ a: baseUrlA, b: baseUrlB, c: baseUrlC }).flatMap(([variant, base]) =>
    base === undefined ? [] : [{ variant: variant as Variant, base }],
  );

/** How @fastify/swagger is to read the routes; it has to be registered before them. */
export function openapiOptions(config: Config): FastifyDynamicSwaggerOptions {
  const bases = basesOf(config);
  const baseOf = new Map(bases.map(({ variant, base }) => [variant, base]));
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Vitrine',
        summary: 'Public profiles and their latest work, as JSON.',
        description: OVERVIEW,
        version: packageVersion(),
        contact: { name: 'Whoever operates this server' },
        license: { name: 'MIT', identifier: 'MIT' },
      } as OpenAPIV3_1.InfoObject,
      servers: serversOf(bases.map(({ base }) => base)),
      security: [],
      tags: bases.map(({ variant, base }) => ({
        name: VARIANTS[variant].name,
        description: `${VARIANTS[variant].about} Base address: \`${base.origin ?? ''}${base.path || '/'}\`.`,
      })),
      components: componentsFor(bases.map(({ variant }) => VARIANTS[variant])) as never,
    },
    stripBasePath: false,
    transform({ schema, url, route }) {
      const { operation } = route.config ?? {};
      const base = operation && baseOf.get(operation.variant as Variant);
      // Of an operation's spellings, the one is told that has input and, as linters insist, no slash at its end.
      if (base === undefined || !(schema?.params ?? schema?.querystring) || url.endsWith('/'))
        return { url, schema: { hide: true } as FastifySchema };
      const described = describe(operation as Operation, schema, base);
      // Two variants may have one path on two hosts: each is kept apart until it is known who asks.
      return { url: `/${operation?.variant}${url}`, schema: described as FastifySchema };
    },
  };
}

/** The document for those who ask at a host: of two variants with one path, it tells the one that answers there. */
export function documentFor(host: string, generated: OpenApi, config: Config): OpenApi {
  const paths: OpenAPIV3_1.PathsObject = {};
  const near = basesOf(config).filter(({ base }) => base.host === host);
  const order = [...near, ...basesOf(config)];
  const mine = (path: string) => order.find(({ variant, base }) => generated.paths?.[`/${variant}${path}`] && base)?.variant;
  for (const [key, item] of Object.entries(generated.paths ?? {})) {
    const path = key.slice(2);
    if (item?.get === undefined || mine(path) !== key[1]) continue;
    const errors = key.startsWith('/a') ? QUERY_ERROR_REFS : ERROR_REFS;
    paths[path] = { get: { ...item.get, responses: { ...item.get.responses, ...errors } } };
  }
  return { ...generated, paths };
}

/** `.` is where the document itself is: right behind a proxy that takes a prefix away, too. */
function serversOf(bases: readonly BaseUrl[]): OpenAPIV3_1.ServerObject[] {
  const origins = [...new Set(bases.map(({ origin }) => origin ?? '.'))].sort();
  const [nearest] = origins;
  return nearest === '.' || nearest === undefined
    ? [{ url: '.', description: 'This server.' }]
    : origins.map((url) => ({ url }));
}

const OPERATION_IDS = {
  a: { profile: 'getProfileOrItemsA', items: '' },
  b: { profile: 'getProfileB', items: 'getItemsB' },
  c: { profile: 'getProfileC', items: 'getItemsC' },
};

/** One operation as @fastify/swagger takes it. */
function describe({ variant, name }: Operation, schema: FastifySchema, base: BaseUrl) {
  const about = VARIANTS[variant as Variant];
  const queryStyle = schema.querystring !== undefined;
  const texts = queryStyle ? queryTexts(base) : pathTexts(name as Lookup, about);
  return {
    ...texts,
    operationId: OPERATION_IDS[variant as Variant][name as Lookup],
    tags: [about.name],
    ...(base.origin !== undefined && { servers: [{ url: base.origin }] }),
    ...(queryStyle ? { querystring: told(schema.querystring) } : { params: told(schema.params) }),
    headers: IF_NONE_MATCH,
    response: {
      200: {
        description: queryStyle ? 'The profile, or with `post=true` the newest posts.' : texts.summary,
        headers: SUCCESS_HEADERS,
        content: { 'application/json': success(name as Lookup, about, queryStyle) },
      },
      304: {
        description: 'What `If-None-Match` names is still what there is; no body.',
        type: 'null',
        headers: SUCCESS_HEADERS,
      },
    },
  };
}

const queryTexts = (base: BaseUrl) => ({
  summary: "A user's profile, or newest posts",
  description: `Without \`post\`, the profile; with \`post=true\`, the newest ${ITEM_CAP} posts. \`${base.path}/api/?user=…\`, with a slash before the question mark, is the same address.`,
});

const pathTexts = (name: Lookup, { collection }: VariantText) =>
  name === 'profile'
    ? { summary: "A user's profile", description: 'The profile of the user with this name.' }
    : {
        summary: `A user's newest shots, as \`${collection}\``.replaceAll('`', ''),
        description: `The newest ${ITEM_CAP} shots of the user with this name, under \`${collection}\`, newest first.`,
      };

function success(name: Lookup, { family, profile, list, collection }: VariantText, both: boolean) {
  const sample = sampleAnswers(family, collection);
  const profileExample = { profile: { summary: 'A profile', value: sample.profile } };
  const listExample = { [collection]: { summary: 'The newest items (two of them)', value: sample.items } };
  if (both)
    return {
      schema: { oneOf: [reference('schemas', profile), reference('schemas', list)] },
      examples: { ...profileExample, ...listExample },
    };
  return name === 'profile'
    ? { schema: reference('schemas', profile), examples: profileExample }
    : { schema: reference('schemas', list), examples: listExample };
}

/** The routes' own input schema, with what a reader wants to know of a user name. */
function told(input: unknown) {
  const { properties, ...rest } = input as { properties: Record<string, object> };
  const tell = (name: string, property: object) => {
    if (name === 'post') return [name, { ...property, 'x-examples': { posts: { summary: 'Ask for posts', value: 'true' } } }];
    const { format: _ours, ...plain } = property as { format?: string };
    return [name, { ...plain, minLength: 1, maxLength: 255, 'x-examples': USER_NAMES }];
  };
  return { ...rest, properties: Object.fromEntries(Object.entries(properties).map(([name, p]) => tell(name, p))) };
}

const USER_NAMES = {
  plain: { summary: 'A sample user', value: 'ada' },
  accented: { summary: 'Letter case does not matter', value: 'zoë' },
  script: { summary: 'Any script, percent-encoded in the address', value: '日本の朝' },
};

const IF_NONE_MATCH = {
  type: 'object',
  properties: {
    'If-None-Match': {
      type: 'string',
      description: 'The ETag of what the client has already; when that is still right, the answer is 304.',
    },
  },
};

function packageVersion(): string {
  const file = join(import.meta.dirname, '../package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
