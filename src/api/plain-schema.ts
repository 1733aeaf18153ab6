// Response schemas as others read them: an app that holds the plugin may compile them, and a strict compiler refuses members,
// formats and repeated ids that it does not know.

import type { TSchema } from '@sinclair/typebox';

const OURS = /^(?:x-.*|format|\$id)$/;

/** A copy in plain JSON Schema. */
export const plainSchema = (schema: TSchema): TSchema => copyPlain(schema) as TSchema;

function copyPlain(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(copyPlain);
  if (typeof schema !== 'object' || schema === null) return schema;
  const plain = Object.entries(schema)
    .filter(([name]) => !OURS.test(name))
    .map(([name, value]) => [name, name === 'properties' ? copyEach(value) : copyPlain(value)]);
  return Object.fromEntries(plain);
}

/** Its names are those of members of a record. */
const copyEach = (properties: object) =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, copyPlain(schema)]));
