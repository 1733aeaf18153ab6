// Variant A: the user and what is wanted of them stand in the query.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { ErrorCode } from '../errors.ts';
import { createReading, readOnlyRoute, UserName, userFault, type VariantOptions } from './reading.ts';

const Query = Type.Object({
  user: UserName,
  post: Type.Optional(Type.Literal('true', { description: 'Ask for the newest posts instead of the profile.' })),
});

export const queryStyle: FastifyPluginCallbackTypebox<VariantOptions> = (app, options, done) => {
  const { base, respond } = options;
  const reading = createReading(options);
  const profileAddress = (key: string) => `${base.path}/api/?user=${encodeURIComponent(key)}`;
  const itemsAddress = (key: string) => `${profileAddress(key)}&post=true`;

  for (const url of [`${base.path}/api/`, `${base.path}/api`]) {
    readOnlyRoute(app, respond, {
      url,
      host: base.host,
      operation: reading.operations.profile,
      schema: { querystring: Query },
      handler(request, reply) {
        const { user, post } = request.query as QueryMembers;
        const operation = post === undefined ? reading.operations.profile : reading.operations.items;
        if (request.validationError !== undefined)
          return reading.refuse(request, reply, operation, userFault(user) ?? postFault(post));
        if (post === undefined) reading.sendProfile(request, reply, user as string, profileAddress);
        else reading.sendItems(request, reply, user as string, itemsAddress);
      },
    });
  }
  done();
};

/** A member's value: several when it is repeated, null when its percent escapes are broken. */
type QueryValue = string | string[] | null;
interface QueryMembers {
  user?: QueryValue;
  post?: QueryValue;
}

const postFault = (post: QueryValue | undefined): ErrorCode => (post === null ? 'BAD_ESCAPE' : 'POST_MALFORMED');

/** Reads the two members that count; unknown ones are ignored. */
export function parseQuery(text: string): QueryMembers {
  const members: QueryMembers = {};
  if (text === '') return members;
  for (const part of text.split('&')) {
    const equals = part.indexOf('=');
    const name = unescaped(equals === -1 ? part : part.slice(0, equals));
    if (name !== 'user' && name !== 'post') continue;
    const value = unescaped(equals === -1 ? '' : part.slice(equals + 1));
    const before = members[name];
    members[name] = before === undefined ? value : [before, value].flat().map((one) => one ?? '');
  }
  return members;
}

function unescaped(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}
