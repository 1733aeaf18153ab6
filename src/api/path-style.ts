// Path style: the path names the user, /api/username/USER, and below it the items, as /api/username/USER/shots.

import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { hostConstraint } from '../config/mount.ts';
import { findKind, ITEM_CAP, KINDS } from '../records/kinds.ts';
import { sendFailure } from './http/errors.ts';
import {
  answerLookup,
  createLookups,
  distinctUrls,
  failureResponses,
  lookupResponses,
  UserInput,
  type VariantOptions,
  variantBodies,
} from './lookup.ts';

const Params = Type.Object({ username: UserInput });

export const pathStyle: FastifyPluginCallbackTypebox<VariantOptions> = (app, options, done) => {
  const { variant, base, addresses } = options;
  const { Profile, Items } = variantBodies(variant);
  const letter = variant.toUpperCase();
  const lookups = createLookups(options);
  const { operations, family, collection } = lookups;
  const { plural } = KINDS[findKind(family, 'item')];

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
  app.get(addresses.profile, profile, function getProfile(request, reply) {
    return answerLookup(lookups, 'profile', request, reply, request.params.username);
  });

  const items = {
    constraints: hostConstraint(base),
    config: { operation: operations.items },
    schema: {
      operationId: `getItems${letter}`,
      summary: `Get a user's newest ${plural}`,
      description: `The newest ${ITEM_CAP} ${plural} of the user with this name, newest first, as \`${collection}\`.`,
      tags: [`Variant ${letter}`],
      params: Params,
      response: lookupResponses(options, Items),
    },
  };
  app.get(addresses.items, items, function getItems(request, reply) {
    return answerLookup(lookups, 'items', request, reply, request.params.username);
  });

  // Addresses that lack the name have an error of their own: without these routes they would be unknown ones.
  const itemsWithoutUser = addresses.items.replace(':username', '');
  const withoutUser = [
    addresses.profile.replace('/:username', ''),
    addresses.profile.replace(':username', ''),
    itemsWithoutUser,
  ];
  for (const url of distinctUrls(app, withoutUser)) {
    const operation = url === itemsWithoutUser ? operations.items : operations.profile;
    app.get(
      url,
      {
        constraints: hostConstraint(base),
        config: { operation },
        schema: { hide: true, response: failureResponses(options, 'USER_MISSING') },
      },
      (_request, reply) => void sendFailure(reply, 'USER_MISSING'),
    );
  }
  done();
};
