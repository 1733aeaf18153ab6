// `/openapi.json`: the description of the API, made from the routes that serve.

import type { FastifyPluginCallbackTypebox } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { findSamplesUrl } from '../../config/addresses.ts';
import { servesSamples } from '../../config/database-url.ts';
import type { Config } from '../../config/settings.ts';
import { FIXTURE_PICTURES } from '../../records/samples.ts';
import type { Awaitable } from '../../stores/reader.ts';
import { createAsset, sendAsset } from '../http/assets.ts';
import { errorResponses } from '../http/errors.ts';
import { NotModified } from '../http/fresh.ts';
import { caching, JSON_TYPE } from '../http/headers.ts';
import { PAGE } from '../http/observations.ts';
import { type ExampleUsers, forUsers } from './example-users.ts';

export interface DescriptionOptions {
  readonly config: Config;
  readonly exampleUsers: () => Awaitable<ExampleUsers>;
  /** The OpenAPI document. */
  readonly describe: (users: ExampleUsers) => object;
}

export const openapi: FastifyPluginCallbackTypebox<DescriptionOptions> = (app, options, done) => {
  const { config, exampleUsers } = options;
  const headers = { 'content-type': JSON_TYPE, ...caching(config) };
  const document = forUsers((users) => createAsset(documentText(users, options), headers));
  app.get(
    '/openapi.json',
    {
      config: { operation: PAGE },
      schema: { hide: true, response: { 200: Type.Object({}), 304: NotModified, ...errorResponses() } },
    },
    async (_request, reply) => sendAsset(reply, document(await exampleUsers())),
  );
  done();
};

/** The examples are sample users; their pictures are here if they are served. */
export function documentText(users: ExampleUsers, { config, describe }: DescriptionOptions): string {
  const text = JSON.stringify(describe(users));
  return servesSamples(config) ? text.replaceAll(FIXTURE_PICTURES, findSamplesUrl(config)) : text;
}
