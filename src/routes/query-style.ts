// Variant A: the user and what is wanted of them stand in the query.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import type { ErrorCode } from '../http/errors.ts';
import type { QueryMembers, QueryValue } from '../http/query.ts';
import { readOnlyRoute } from '../server/router.ts';
import { createReading, userFault, type VariantOptions } from './reading.ts';

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
      input: 'querystring',
      handler(request, reply) {
        const { user, post } = request.query as QueryMembers;
        const operation = post === undefined ? reading.operations.profile : reading.operations.items;
        const fault = userFault(user) ?? postFault(post);
        if (fault !== undefined) return reading.refuse(request, reply, operation, fault);
        if (post === undefined) reading.sendProfile(request, reply, user as string, profileAddress);
        else reading.sendItems(request, reply, user as string, itemsAddress);
      },
    });
  }
  done();
};

function postFault(post: QueryValue | undefined): ErrorCode | undefined {
  if (post === undefined || post === 'true') return undefined;
  return post === null ? 'BAD_ESCAPE' : 'POST_MALFORMED';
}
