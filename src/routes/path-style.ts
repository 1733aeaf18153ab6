// Variants B and C: the path names the user.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { ITEM_CAP } from '../records/kinds.ts';
import { UserName } from '../records/user-name.ts';
import { VARIANTS } from '../variants.ts';
import { bodiesOf, createLookups, lookupResponses, siteConstraint, type VariantOptions } from './lookup.ts';

const Params = Type.Object({ username: UserName });

export const pathStyle: FastifyPluginCallbackTypebox<VariantOptions> = (app, options, done) => {
  const { variant, base } = options;
  const { Profile, Items } = bodiesOf(variant);
  const letter = variant.toUpperCase();
  const { operations, sendProfile, sendItems } = createLookups(options);

  const profile = {
    constraints: siteConstraint(base),
    config: { operation: operations.profile },
    schema: {
      operationId: `getProfile${letter}`,
      summary: "Get a user's profile",
      description: 'The profile of the user with this name.',
      tags: [`Variant ${letter}`],
      params: Params,
      response: lookupResponses(options, Profile),
    },
  };
  app.get('/api/username/:username', profile, (request, reply) =>
    sendProfile(request, reply, request.params.username),
  );

  const items = {
    constraints: siteConstraint(base),
    config: { operation: operations.items },
    schema: {
      operationId: `getItems${letter}`,
      summary: "Get a user's newest shots",
      description: `The newest ${ITEM_CAP} shots of the user with this name, newest first, as \`${VARIANTS[variant].collection}\`.`,
      tags: [`Variant ${letter}`],
      params: Params,
      response: lookupResponses(options, Items),
    },
  };
  app.get('/api/username/:username/shots', items, (request, reply) =>
    sendItems(request, reply, request.params.username),
  );

  // Without a name these would be unknown addresses; the schema says what is missing.
  for (const url of ['/api/username', '/api/username/'])
    app.get(url, { ...profile, schema: { ...profile.schema, hide: true } }, () => {});
  app.get('/api/username//shots', { ...items, schema: { ...items.schema, hide: true } }, () => {});
  done();
};
