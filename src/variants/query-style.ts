// Variant A: the user and what is wanted of them stand in the query.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import type { ErrorCode } from '../errors.ts';
import type { QueryMembers, QueryValue } from '../query.ts';
import { readOnlyRoute } from '../router.ts';
import { createReading, UserName, userFault, type VariantOptions } from './reading.ts';

const Query = Type.Object({
  user: UserName,
  post: Type.Optional(
    Type.Literal('true', { description: 'Ask for the newest posts instead of the profile.' }),
  ),
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

const postFault = (post: QueryValue | undefined): ErrorCode =>
  post === null ? 'BAD_ESCAPE' : 'POST_MALFORMED';
