// Holds each response against the server's own OpenAPI document, as a validating proxy would.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { type AskOptions, json, type Reply } from './rig.ts';

interface Response {
  readonly $ref?: string;
  readonly headers?: Record<string, unknown>;
  readonly content?: unknown;
}
interface Operation {
  readonly servers?: readonly { readonly url: string }[];
  readonly responses: Record<string, Response>;
}
export interface OpenApi {
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Record<string, { readonly get: Operation }>;
  readonly components: { readonly responses: Record<string, Response> };
}

interface Route {
  readonly pattern: RegExp;
  readonly pointer: readonly string[];
  readonly operation: Operation;
}

/** Answers to these are described once for all addresses, by the schema `Error`. */
const ANYWHERE = ['ROUTE_NOT_FOUND', 'METHOD_NOT_ALLOWED'];

export function createDocumentJudge(document: OpenApi) {
  const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(document, 'openapi');
  const compiled = new Map<string, ValidateFunction>();
  const routes = Object.entries(document.paths).map(([path, { get }]) => routeOf(document, path, get));

  function fits(value: unknown, ...pointer: string[]): boolean {
    const $ref = `openapi#${pointer.map(segment).join('')}`;
    const validate = compiled.get($ref) ?? ajv.compile({ $ref });
    compiled.set($ref, validate);
    return validate(value) as boolean;
  }

  /** What in the response differs from the document. */
  function faultOf(path: string, { method = 'GET' }: AskOptions, reply: Reply): string | undefined {
    const route = routes.find(({ pattern }) => pattern.test(path));
    const isError = reply.status >= 400 && method !== 'HEAD';
    if (route === undefined || !['GET', 'HEAD'].includes(method) || isAnywhere(reply)) {
      const known = !isError || fits(json(reply), 'components', 'schemas', 'ApiError');
      return known ? undefined : `no Error: ${reply.body}`;
    }
    const listed = route.operation.responses[reply.status];
    const shared = listed?.$ref?.split('/').slice(1);
    const told = shared === undefined ? listed : document.components.responses[shared.at(-1) as string];
    if (told === undefined) return `${reply.status} is not in the document`;
    const absent = Object.keys(told.headers ?? {}).filter((name) => !(name.toLowerCase() in reply.headers));
    // Only servers with a rate limit have these.
    const missing = absent.filter((name) => !name.startsWith('RateLimit'));
    if (missing.length > 0) return `no ${missing}`;
    if (told.content === undefined || method === 'HEAD') return reply.body === '' ? undefined : 'a body';
    const place = shared ?? [...route.pointer, 'responses', String(reply.status)];
    return fits(json(reply), ...place, 'content', 'application/json', 'schema')
      ? undefined
      : `another schema: ${reply.body}`;
  }

  return { faultOf };
}

const isAnywhere = ({ body }: Reply) => ANYWHERE.some((code) => body.includes(`"code":"${code}"`));

const segment = (part: string) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`;

function routeOf({ servers }: OpenApi, path: string, operation: Operation): Route {
  const { pathname } = new URL(operation.servers?.[0]?.url ?? servers[0]?.url ?? '.', 'http://x');
  const base = pathname.replace(/\/$/, '');
  const source = (base + path).replaceAll('.', '\\.').replace('{username}', '(?<username>[^/?]*)');
  return { pattern: new RegExp(`^${source}/?(?:\\?|$)`), pointer: ['paths', path, 'get'], operation };
}
