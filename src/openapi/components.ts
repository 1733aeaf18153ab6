// The parts that the OpenAPI document's operations share: the records, the lists, the headers and the errors.
import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import { ERROR_CODES, type ErrorCode, FAILURES } from '../http/errors.ts';
import { STATUS_CODES } from '../http/node-http.ts';
import type { Family } from '../records/kinds.ts';
import { itemsBody, MicroblogProfile, PortfolioProfile, Post, Shot } from '../records/schemas.ts';

export const schemaRef = (name: string) => ({ $ref: `#/components/schemas/${name}` });

export const ErrorBody = Type.Object(
  {
    statusCode: Type.String({
      description: 'The HTTP status, as decimal digits.',
      pattern: '^[45][0-9]{2}$',
    }),
    code: Type.Union(
      ERROR_CODES.map((code) => Type.Literal(code)),
      { description: 'What went wrong, for programs.' },
    ),
    error: Type.String({ description: "The status's standard phrase." }),
    message: Type.String({ description: 'What to do about it, for people.' }),
  },
  { $id: 'Error', title: 'Error', description: 'The body of every answer that is not a success.' },
);

const RECORDS: Record<Family, { profile: TObject; item: TObject }> = {
  microblog: { profile: MicroblogProfile, item: Post },
  portfolio: { profile: PortfolioProfile, item: Shot },
};

export interface Bodies {
  readonly family: Family;
  /** The item list's name, and its one member. */
  readonly list: string;
  readonly collection: string;
}

export const profileName = (family: Family) => RECORDS[family].profile.$id as string;

/** What these variants answer with, and nothing else. */
export function schemasFor(variants: readonly Bodies[]): Record<string, object> {
  const bodies = variants.flatMap(({ family, list, collection }) => {
    const { profile, item } = RECORDS[family];
    return [profile, item, itemsBody(list, collection, item)];
  });
  return Object.fromEntries([...bodies, ErrorBody].map((schema: TSchema) => [schema.$id, plain(schema)]));
}

/** A schema as readers take it: they never meet a default, for every member is there. */
function plain(schema: TSchema): object {
  const text = JSON.stringify(schema, (key, value) => {
    if (key === 'default' || key === '$id') return undefined;
    if (key === '$ref') return schemaRef(value).$ref;
    const choices = Array.isArray(value?.anyOf)
      ? value.anyOf.map((choice: TSchema) => choice.const)
      : undefined;
    return choices === undefined ? value : { type: 'string', description: value.description, enum: choices };
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

/** Of 200 and 304. */
export const SUCCESS_HEADERS = {
  ETag: header('Says what the body is: send it back as `If-None-Match`.', '"yJ5ZCIaZ0yN1hQ0b3S6w4g"'),
  ...CACHING,
  ...LIMITING,
};

/** What no lookup gives: other methods and other addresses do. */
const ELSEWHERE: readonly ErrorCode[] = ['METHOD_NOT_ALLOWED', 'ROUTE_NOT_FOUND'];
const OF_QUERIES: readonly ErrorCode[] = ['USER_REPEATED', 'POST_MALFORMED'];

/** The errors that a lookup can give, by status, each with its codes as examples. */
export function failureResponses(style: 'query' | 'path') {
  const codes = ERROR_CODES.filter(
    (code) => !ELSEWHERE.includes(code) && (style === 'query' || !OF_QUERIES.includes(code)),
  );
  const byStatus = Map.groupBy(codes, (code) => FAILURES[code].status);
  return Object.fromEntries([...byStatus].map(([status, group]) => [status, failureResponse(status, group)]));
}

function failureResponse(status: number, codes: readonly ErrorCode[]) {
  const bodies = codes.map(
    (code) => [code, JSON.parse(FAILURES[code].body.toString()) as { message: string }] as const,
  );
  const examples = bodies.map(([code, value]) => [code, { summary: value.message, value }]);
  return {
    description:
      bodies.length === 1 ? bodies[0]?.[1].message : `${STATUS_CODES[status]}: \`code\` says what it was.`,
    headers: { ...CACHING, ...(status === 429 && LIMITING), ...([429, 503].includes(status) && WAITING) },
    content: { 'application/json': { schema: schemaRef('Error'), examples: Object.fromEntries(examples) } },
  };
}
