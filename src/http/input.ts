// A request's input: the query is read strictly, and TypeBox checks parameters as they come, without coercion.
import type { TSchema } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import type { FastifySchemaCompiler, FastifyServerOptions } from 'fastify';
import { type ErrorCode, RequestError } from './errors.ts';

/** In the schema of an input: the error of a value that does not fit. A symbol, so it is not published. */
export const FAULT = Symbol('fault');

type Fault = ErrorCode | ((value: unknown) => ErrorCode);

const compileInput: FastifySchemaCompiler<TSchema> = ({ schema }) => {
  const input = TypeCompiler.Compile(schema);
  return (value: unknown) => {
    if (input.Check(value)) return true;
    const first = input.Errors(value).First();
    return { error: new RequestError(faultCode(first?.schema as { [FAULT]?: Fault }, first?.value)) };
  };
};

function faultCode(schema: { [FAULT]?: Fault }, value: unknown): ErrorCode {
  // What the parsers of paths and queries make of a broken escape.
  if (value === null) return 'BAD_ESCAPE';
  const fault = schema[FAULT] ?? 'BAD_REQUEST';
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

/** A member's value: an array when it is repeated, null when its percent escapes are broken. */
type QueryValue = string | string[] | null;

export interface QueryMembers {
  user?: QueryValue;
  post?: QueryValue;
}

/** What a repeated member becomes; how often it is repeated does not matter. */
const REPEATED: string[] = [];

export function parseQuery(text: string): QueryMembers {
  const members: QueryMembers = {};
  if (text === '') return members;
  for (const part of text.split('&')) {
    const equals = part.indexOf('=');
    const name = unescaped(equals === -1 ? part : part.slice(0, equals));
    if (name !== 'user' && name !== 'post') continue;
    members[name] =
      members[name] === undefined ? unescaped(equals === -1 ? '' : part.slice(equals + 1)) : REPEATED;
  }
  return members;
}

function unescaped(text: string): string | null {
  if (!/[%+]/.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}
