// Holds each response against the server's own OpenAPI document, as a validating proxy would.
import { Ajv2020 } from 'ajv/dist/2020.js';
import {
  type ApiDocument,
  type ApiOperation,
  type ApiSchema,
  listOperations,
} from '../../src/pages/docs/api-document.ts';
import { type AskOptions, json, type Reply } from '../support/http.ts';

/** Answers to these are described once for all addresses, by the schema `ApiError`. */
const ANYWHERE = ['ROUTE_NOT_FOUND', 'METHOD_NOT_ALLOWED'];

export function createDocumentJudge(document: ApiDocument) {
  const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(document, 'openapi');
  const operations = listOperations(document).map((operation) => ({
    ...operation,
    pattern: requestPattern(operation),
  }));

  const fits = (value: unknown, { $ref, oneOf = [{ $ref: $ref as string }] }: ApiSchema) =>
    oneOf.some((one) => ajv.getSchema(`openapi${one.$ref}`)?.(value) === true);

  /** What in the response differs from the document. */
  function faultOf(path: string, { method = 'GET' }: AskOptions, reply: Reply): string | undefined {
    const operation = operations.find(({ pattern }) => pattern.test(path));
    if (operation === undefined || !['GET', 'HEAD'].includes(method) || isAnywhere(reply)) {
      const isFine = reply.status < 400 || method === 'HEAD' || fits(json(reply), ERROR);
      return isFine ? undefined : `no Error: ${reply.body}`;
    }
    const [, told] = operation.responses.find(([status]) => status === String(reply.status)) ?? [];
    if (told === undefined) return `${reply.status} is not in the document`;
    const absent = Object.keys(told.headers ?? {}).filter((name) => !(name.toLowerCase() in reply.headers));
    // Only servers with a rate limit have these.
    const missing = absent.filter((name) => !name.startsWith('RateLimit'));
    if (missing.length > 0) return `no ${missing}`;
    const { schema } = told.content?.['application/json'] ?? {};
    if (schema === undefined || method === 'HEAD') return reply.body === '' ? undefined : 'a body';
    return fits(json(reply), schema) ? undefined : `another schema: ${reply.body}`;
  }

  return { faultOf };
}

const ERROR = { $ref: '#/components/schemas/ApiError' };

const isAnywhere = ({ body }: Reply) => ANYWHERE.some((code) => body.includes(`"code":"${code}"`));

function requestPattern({ server, path }: ApiOperation): RegExp {
  const base = new URL(server, 'http://x').pathname.replace(/\/$/, '');
  const source = (base + path).replaceAll('.', '\\.').replace('{username}', '[^/?]*');
  return new RegExp(`^${source}/?(?:\\?|$)`);
}
