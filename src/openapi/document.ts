// The OpenAPI document: what the routes of the variants ask for and answer, told for programs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { type TObject, Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifySchema } from 'fastify';
import { type Config, type Site, sitesOf } from '../config/config.ts';
import type { BaseUrl } from '../config/setting-values.ts';
import type { Responder } from '../http/respond.ts';
import { ITEM_CAP } from '../records/kinds.ts';
import { LONGEST_USER_NAME } from '../records/user-name.ts';
import { createRouter, type Input } from '../server/router.ts';
import type { Operation } from '../telemetry/operations.ts';
import {
  type Bodies,
  failureResponses,
  profileName,
  SUCCESS_HEADERS,
  schemaRef,
  schemasFor,
} from './components.ts';
import { sampleAnswers } from './examples.ts';

/** As much of the document as is handled here. */
export interface OpenApi {
  readonly paths?: Readonly<Record<string, object | undefined>>;
  readonly [part: string]: unknown;
}

const OVERVIEW = `Read-only lookups, by user name, of people's public profiles and of the newest ${ITEM_CAP} things they published.

**Every value is a string**, counts, identifiers and flags included; what is absent is an empty string. Items come newest first, and a user without any has an empty list. The letter case of a user name does not matter.

**Errors** are JSON objects of strings as well: \`code\` is made for programs, \`message\` for people. Any method but GET, HEAD and OPTIONS is answered 405, any other address 404 (\`ROUTE_NOT_FOUND\`).

**Caching**: every success has an ETag. Sent back as \`If-None-Match\` it is answered 304, without a body, as long as nothing has changed. No key is needed, and pages of other origins may read the answers unless the operator decides otherwise.`;

interface About extends Bodies {
  readonly name: string;
  readonly about: string;
}

const VARIANTS: Record<Site['variant'], About> = {
  a: {
    name: 'Variant A',
    about: 'Microblogging: profiles and posts. The user, and whether posts are wanted, stand in the query.',
    family: 'microblog',
    list: 'ItemsA',
    collection: 'posts',
  },
  b: {
    name: 'Variant B',
    about: 'Design portfolios: profiles and shots, which are listed as `Shots`. The user stands in the path.',
    family: 'portfolio',
    list: 'ItemsB',
    collection: 'Shots',
  },
  c: {
    name: 'Variant C',
    about: 'Design portfolios: as variant B, but the shots are listed as `Posts`.',
    family: 'portfolio',
    list: 'ItemsC',
    collection: 'Posts',
  },
};

const UserName = Type.String({
  format: 'user-name',
  description: 'The user name: 1 to 255 characters; letter case does not matter.',
});

/** What the routes take, by where it stands. */
const INPUTS: Record<Input, TObject> = {
  querystring: Type.Object({
    user: UserName,
    post: Type.Optional(
      Type.Literal('true', { description: 'Ask for the newest posts instead of the profile.' }),
    ),
  }),
  params: Type.Object({ username: UserName }),
};

export interface DescribeOptions {
  readonly config: Config;
  readonly respond: Responder;
  /** Registers the routes that are to be described. */
  readonly mount: (router: FastifyInstance) => void;
}

/** The document of the routes, from a router of its own: the one that serves need not carry what makes it. */
export async function describeRoutes({ config, respond, mount }: DescribeOptions): Promise<OpenApi> {
  const { default: swagger } = await import('@fastify/swagger');
  const router = createRouter({ config, respond });
  router.register(swagger, openapiOptions(config));
  mount(router);
  await router.ready();
  return router.swagger() as OpenApi;
}

/** How @fastify/swagger is to read the routes; it has to be registered before them. */
function openapiOptions(config: Config): FastifyDynamicSwaggerOptions {
  const sites = sitesOf(config);
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));
  const info = {
    title: 'Vitrine',
    summary: 'Public profiles and their latest work, as JSON.',
    description: OVERVIEW,
    version,
    contact: { name: 'Whoever runs this server' },
    license: { name: 'MIT', identifier: 'MIT' },
  };
  return {
    openapi: { openapi: '3.1.0', info, security: [] },
    stripBasePath: false,
    transform({ url, route }) {
      const operation = route.config?.operation;
      const site = sites.find(({ variant }) => variant === operation?.variant);
      const input = route.config?.input;
      // Of two spellings, the one without a slash at the end is told: linters insist.
      if (operation === undefined || site === undefined || input === undefined || url.endsWith('/'))
        return { url, schema: { hide: true } };
      // Marked, because two variants may have the same path on two hosts.
      return {
        url: `/${site.variant}${url}`,
        schema: describe(operation.name, { [input]: INPUTS[input] }, site),
      };
    },
  };
}

/** The document for who asks at a host: of variants with the same paths, it tells the one that answers there. */
export function documentFor(host: string, generated: OpenApi, config: Config): OpenApi {
  const all = sitesOf(config);
  const first = [...all.filter(({ base }) => base.host === host), ...all];
  const told = all.filter((site) => site === first.find((other) => samePaths(site, other)));
  const paths = Object.entries(generated.paths ?? {}).flatMap(([marked, item]) =>
    told.some(({ variant }) => variant === marked[1]) ? [[marked.slice(2), item] as const] : [],
  );
  return {
    ...generated,
    servers: serversOf(told),
    tags: told.map(({ variant, base: { origin = '', path } }) => ({
      name: VARIANTS[variant].name,
      description: `${VARIANTS[variant].about} Base address: \`${origin}${path || '/'}\`.`,
    })),
    paths: Object.fromEntries(paths),
    components: { schemas: schemasFor(told.map(({ variant }) => VARIANTS[variant])) },
  };
}

const samePaths = (one: Site, two: Site) =>
  one.base.path === two.base.path && VARIANTS[one.variant].family === VARIANTS[two.variant].family;

/** `.` is where the document is: right as well behind a proxy that takes a prefix away. */
function serversOf(sites: readonly Site[]) {
  const origins = sites.map(({ base }) => base.origin ?? '.');
  return [...new Set(origins.includes('.') || origins.length === 0 ? ['.'] : origins)].map((url) => ({
    url,
  }));
}

type Shown = 'profile' | 'items';
const FOUND = {
  both: 'The profile, or the list of posts.',
  profile: 'The profile.',
  items: 'The list of shots.',
};

/** What a route looks up, in words. */
function wordsFor(shows: readonly Shown[], { collection }: About, { path }: BaseUrl) {
  if (shows.length > 1)
    return {
      operationId: 'getProfileOrItems',
      summary: "Get a user's profile, or newest posts",
      description: `Without \`post\`, the profile; with \`post=true\`, the newest ${ITEM_CAP} posts, newest first. \`${path}/api/?user=…\`, with a slash before the question mark, is the same address.`,
    };
  if (shows[0] === 'profile')
    return {
      operationId: 'getProfile',
      summary: "Get a user's profile",
      description: 'The profile of the user of this name.',
    };
  return {
    operationId: 'getItems',
    summary: "Get a user's newest shots",
    description: `The newest ${ITEM_CAP} shots of the user of this name, newest first, as \`${collection}\`.`,
  };
}

/** One operation, as @fastify/swagger takes it. */
function describe(name: Operation['name'], schema: FastifySchema, { variant, base }: Site): FastifySchema {
  const about = VARIANTS[variant];
  const style = schema.querystring === undefined ? 'path' : 'query';
  const shows: Shown[] = style === 'query' ? ['profile', 'items'] : [name as Shown];
  const { operationId, ...words } = wordsFor(shows, about, base);
  return {
    operationId: operationId + variant.toUpperCase(),
    ...words,
    tags: [about.name],
    ...(base.origin !== undefined && { servers: [{ url: base.origin }] }),
    ...(style === 'query'
      ? { querystring: explained(schema.querystring) }
      : { params: explained(schema.params) }),
    headers: { type: 'object', properties: { 'If-None-Match': IF_NONE_MATCH } },
    response: {
      200: {
        description: FOUND[shows.length > 1 ? 'both' : (name as Shown)],
        headers: SUCCESS_HEADERS,
        content: success(shows, about),
      },
      304: {
        description: 'Nothing has changed since; there is no body.',
        headers: SUCCESS_HEADERS,
        type: 'null',
      },
      ...failureResponses(style),
    },
  };
}

function success(shows: readonly Shown[], { family, list, collection }: About) {
  const names = { profile: profileName(family), items: list };
  const schemas = shows.map((shown) => schemaRef(names[shown]));
  const samples = sampleAnswers(family, collection);
  const examples = Object.fromEntries(shows.map((shown) => [shown, samples[shown]]));
  return { 'application/json': { schema: schemas.length === 1 ? schemas[0] : { oneOf: schemas }, examples } };
}

const USER_NAMES = {
  plain: { summary: 'A sample user', value: 'ada' },
  otherCase: { summary: 'Letter case does not matter', value: 'zoë' },
  otherScript: { summary: 'Any script will do', value: '日本の朝' },
};

const IF_NONE_MATCH = {
  type: 'string',
  description: 'The ETag of the answer that the client has; as long as that is right, the answer is 304.',
};

/** A route's own input, with what a reader wants to know about it. */
function explained(input: unknown) {
  const { properties, ...rest } = input as { properties: Record<string, { format?: string }> };
  const explain = ([name, { format, ...property }]: [string, { format?: string }]) => [
    name,
    format === 'user-name'
      ? { ...property, minLength: 1, maxLength: LONGEST_USER_NAME, 'x-examples': USER_NAMES }
      : property,
  ];
  return { ...rest, properties: Object.fromEntries(Object.entries(properties).map(explain)) };
}
