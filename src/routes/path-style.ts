// Variants B and C: the path names the user.
import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { errorResponses, sendFailure } from '../http/errors.ts';
import { ITEM_CAP } from '../records/kinds.ts';
import { STYLES, VARIANTS } from '../variants.ts';
import {
  createLookups,
  hostConstraint,
  lookupResponses,
  UserInput,
  type VariantOptions,
  variantBodies,
} from './lookup.ts';

const Params = Type.Object({ username: UserInput });

export const pathStyle: FastifyPluginCallbackTypebox<VariantOptions> = (app, options, done) => {
  const { variant, base } = options;
  const { Profile, Items } = variantBodies(variant);
  const letter = variant.toUpperCase();
  const { operations, sendProfile, sendItems } = createLookups(options);

  const profile = {
    constraints: hostConstraint(base),
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
  app.get(STYLES.path.profile, profile, (request, reply) =>
    sendProfile(request, reply, request.params.username),
  );

  const items = {
    constraints: hostConstraint(base),
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
  app.get(STYLES.path.items, items, (request, reply) => sendItems(request, reply, request.params.username));

  // Without a name these would be unknown addresses.
  const withoutUser: [string, typeof operations.profile | typeof operations.items][] = [
    [STYLES.path.profile.replace('/:username', ''), operations.profile],
    [STYLES.path.profile.replace(':username', ''), operations.profile],
    [STYLES.path.items.replace(':username', ''), operations.items],
  ];
  for (const [url, operation] of withoutUser)
    app.get(
      url,
      {
        constraints: hostConstraint(base),
        config: { operation },
        schema: { hide: true, response: errorResponses('USER_MISSING') },
      },
      (_request, reply) => void sendFailure(reply, 'USER_MISSING'),
    );
  done();
};
