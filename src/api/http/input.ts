// A request's input: the query is read strictly, and TypeBox checks parameters as they come, without coercion.
import { parse } from 'node:querystring';
import type { TSchema } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import type { FastifySchemaCompiler, FastifyServerOptions } from 'fastify';
import { type ErrorCode, RequestError } from './errors.ts';

/** In the schema of an input: the error of a value that does not fit. A symbol, so it is not published. */
export const FAULT = Symbol('fault');

/**
 * A value of the query with broken percent escapes. A symbol, not null: Node's parser reads
 * members of the earlier values of a repeated name.
 */
const BROKEN_ESCAPE = Symbol('broken escape');

type Fault = ErrorCode | ((value: unknown) => ErrorCode);

declare module '@sinclair/typebox' {
  interface SchemaOptions {
    readonly [FAULT]?: Fault;
  }
}

export const compileInput: FastifySchemaCompiler<TSchema> = ({ schema }) => {
  const input = TypeCompiler.Compile(schema);
  return function checkInput(value: unknown) {
    if (input.Check(value)) return true;
    const first = input.Errors(value).First();
    return { error: new RequestError(faultCode(first?.schema, first?.value)) };
  };
};

function faultCode(schema: TSchema | undefined, value: unknown): ErrorCode {
  if (value === BROKEN_ESCAPE) return 'BAD_ESCAPE';
  const fault = schema?.[FAULT] ?? 'BAD_REQUEST';
  return typeof fault === 'function' ? fault(value) : fault;
}

/**
 * Given as a factory, so Fastify does not load its own compilers, which takes 25 ms of every start. Response schemas
 * describe and are held by tests: bodies are stored JSON text. The cast: Fastify's types know Ajv's compilers only.
 */
export const COMPILERS = {
  buildValidator: () => compileInput,
  buildSerializer: () => () => JSON.stringify,
} as unknown as NonNullable<FastifyServerOptions['schemaController']>['compilersFactory'];

// `parse` passes on what the function returns, of any type.
const STRICT = { maxKeys: 0, decodeURIComponent: decode as (text: string) => string };

/** Members by name: an array when one is repeated. */
export const parseQuery = (text: string) => parse(text, '&', '=', STRICT);

function decode(text: string): string | typeof BROKEN_ESCAPE {
  try {
    return decodeURIComponent(text);
  } catch {
    return BROKEN_ESCAPE;
  }
}
