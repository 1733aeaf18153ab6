// Variants B and C: the user stands in the path.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { readOnlyRoute } from '../server/router.ts';
import { createReading, userFault, type VariantOptions } from './reading.ts';

export const pathStyle: FastifyPluginCallbackTypebox<VariantOptions> = (app, options, done) => {
  const { base, respond } = options;
  const { operations, refuse, sendProfile, sendItems } = createReading(options);
  const users = `${base.path}/api/username`;
  const profileAddress = (key: string) => `${users}/${encodeURIComponent(key)}`;
  const itemsAddress = (key: string) => `${profileAddress(key)}/shots`;

  const lookups = [
    {
      url: `${users}/:username`,
      operation: operations.profile,
      sendAnswer: sendProfile,
      address: profileAddress,
    },
    {
      url: `${users}/:username/shots`,
      operation: operations.items,
      sendAnswer: sendItems,
      address: itemsAddress,
    },
  ];
  for (const { url, operation, sendAnswer, address } of lookups) {
    readOnlyRoute(app, respond, {
      url,
      host: base.host,
      operation,
      input: 'params',
      handler(request, reply) {
        const { username } = request.params as { username: string };
        const fault = userFault(username);
        if (fault) refuse(request, reply, operation, fault);
        else sendAnswer(request, reply, username, address);
      },
    });
  }

  // Where the name is left out, the answer is what is missing rather than that there is no such route.
  const nameless = [
    { url: users, operation: operations.profile },
    { url: `${users}/`, operation: operations.profile },
    { url: `${users}//shots`, operation: operations.items },
  ];
  for (const { url, operation } of nameless) {
    const handler = (request: FastifyRequest, reply: FastifyReply) =>
      refuse(request, reply, operation, 'USER_MISSING');
    readOnlyRoute(app, respond, { url, host: base.host, operation, handler });
  }
  done();
};
