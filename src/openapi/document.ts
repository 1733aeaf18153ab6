// The OpenAPI document: @fastify/swagger reads the routes that serve; what a reader wants to know besides is added here.
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import type { TSchema } from '@sinclair/typebox';
import { type Config, listMounts } from '../config/config.ts';
import type { Mount } from '../config/mount.ts';
import { STATUS_CODES } from '../http/node-http.ts';
import { VERSION } from '../package-files.ts';
import { ITEM_CAP } from '../records/kinds.ts';
import type { ExampleUsers } from '../routes/example-users.ts';
import { VARIANTS, type Variant } from '../variants.ts';
import { describeResponses, inputSchema, namedSchemas } from './components.ts';

/** As much of the document as is handled here. */
interface OpenApi {
  readonly paths?: Record<string, PathItem | undefined> | undefined;
}

interface PathItem {
  readonly get?: {
    readonly parameters?: readonly object[];
    readonly responses?: object | undefined;
  };
}

const OVERVIEW = `Read-only lookups, by user name, of public profiles and of the newest ${ITEM_CAP} items each user published.

**Every value is a string**, counts, identifiers and flags included; an absent value is an empty string. Items come newest first, and a user without items has an empty list. The letter case of a user name does not matter.

**Errors** are JSON objects of strings as well: \`code\` is for programs, \`message\` for people. Any method but GET, HEAD and OPTIONS is answered 405, any other address 404 (\`ROUTE_NOT_FOUND\`).

**Caching**: every success has an ETag. Sent back as \`If-None-Match\` it is answered 304, without a body, as long as nothing has changed. No key is needed, and pages of other origins may read the answers unless the operator decides otherwise.`;

const tagName = (variant: Variant) => `Variant ${variant.toUpperCase()}`;

/** How @fastify/swagger reads the routes; it has to be registered before them. */
export function openapiOptions(config: Config): FastifyDynamicSwaggerOptions {
  const mounts = listMounts(config);
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
      const { querystring, params, response, ...words } = schema as Record<string, TSchema>;
      return {
        // Marked, because two variants may have the same path on two hosts.
        url: `/${mount.variant}${url}`,
        schema: {
          ...words,
          ...(mount.base.origin !== undefined && { servers: [{ url: mount.base.origin }] }),
          ...(querystring === undefined
            ? { params: inputSchema(params as TSchema) }
            : { querystring: inputSchema(querystring) }),
          headers: { type: 'object', properties: { 'If-None-Match': IF_NONE_MATCH } },
          response: describeResponses(mount.variant, response as unknown as Record<string, TSchema>),
        },
      };
    },
  };
}

const IF_NONE_MATCH = {
  type: 'string',
  description: 'The ETag of the answer that the client has; as long as it is current, the answer is 304.',
};

/** Of variants with the same paths on hosts of their own, the first is described. */
export function createDocument(generated: OpenApi, config: Config, users: ExampleUsers): object {
  const all = listMounts(config);
  // The sample users stand in the generated document.
  const named = (variant: Variant, item: PathItem | undefined) =>
    config.databaseUrl === undefined ? item : withExamples(item, users[VARIANTS[variant].family]);
  const shown = all.filter((mount) => mount === all.find((other) => samePaths(mount, other)));
  const paths = Object.entries(generated.paths ?? {}).flatMap(([marked, item]) => {
    const [, variant = ''] = marked.split('/', 2);
    return shown.some((mount) => mount.variant === variant)
      ? [[marked.slice(variant.length + 1), named(variant as Variant, item)] as const]
      : [];
  });
  const shared = shareResponses(paths);
  return {
    ...generated,
    servers: listServers(all),
    tags: shown.map(describeVariant),
    paths: Object.fromEntries(shared.paths),
    components: {
      schemas: namedSchemas(shown.map(({ variant }) => variant)),
      responses: shared.responses,
    },
  };
}

/** Each response that is not a success stands once in the document: lookups refer to it. */
function shareResponses(paths: readonly (readonly [string, PathItem | undefined])[]) {
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

  const referring = paths.map(([path, item]) => {
    if (item?.get?.responses === undefined) return [path, item] as const;
    const entries = Object.entries(item.get.responses).map(refer);
    return [path, { ...item, get: { ...item.get, responses: Object.fromEntries(entries) } }] as const;
  });
  return { paths: referring, responses };
}

const describeVariant = ({ variant, base: { origin = '', path } }: Mount) => ({
  name: tagName(variant),
  description: `${VARIANTS[variant].about} Base address: \`${origin}${path || '/'}\`.`,
});

/** The parameters that have user names as examples, with other names. */
function withExamples({ get }: PathItem = {}, names: readonly string[]) {
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
