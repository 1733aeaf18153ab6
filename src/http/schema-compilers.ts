// TypeBox's compiler as Fastify's validator: inputs are checked as they come, without coercion.
import type { TSchema } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import type { FastifySchemaCompiler } from 'fastify';
import { RequestError } from './errors.ts';
import { inputFault } from './malformed.ts';

export const compileInput: FastifySchemaCompiler<TSchema> = ({ schema }) => {
  const input = TypeCompiler.Compile(schema);
  return (value: unknown) => {
    if (input.Check(value)) return true;
    const first = input.Errors(value).First();
    return { error: new RequestError(inputFault(first?.path ?? '', first?.value)) };
  };
};

/** Response schemas describe and are held by tests. Bodies are stored JSON text, so nothing is serialised by them. */
export const compileResponse = () => JSON.stringify;
