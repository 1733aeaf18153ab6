// The API of the specification: this plugin mounts a route plugin for each variant at its base address over one store. In
// query-style addresses the query names the user, in path-style ones the path. The schemas in records/schemas.ts describe the
// responses: TypeBox forces every field to a string, and caps item lists at 15. The import checks records by them.

import type { FastifyPluginCallback } from 'fastify';
import { type Config, listMounts } from '../config/settings.ts';
import type { Reader } from '../stores/reader.ts';
import { type RouteStyle, STYLES, VARIANTS } from '../variants.ts';
import { createAnswerWriter } from './http/answer.ts';
import type { Observer } from './http/observations.ts';
import { createUserTags } from './http/user-tags.ts';
import { pathStyle } from './path-style.ts';
import { queryStyle } from './query-style.ts';

export const ROUTE_PLUGINS: Record<RouteStyle, typeof pathStyle> = { query: queryStyle, path: pathStyle };

interface ApiOptions {
  readonly config: Config;
  readonly store: Reader;
  readonly observe: Observer;
}

export const api: FastifyPluginCallback<ApiOptions> = (app, { config, store, observe }, done) => {
  const { takedownStatus } = config;
  const sendAnswer = createAnswerWriter(config, observe);
  const tagUser = config.purge.length > 0 ? createUserTags(config) : undefined;
  for (const { variant, base } of listMounts(config)) {
    const { style } = VARIANTS[variant];
    const lookups = { variant, base, addresses: STYLES[style], store, sendAnswer, tagUser, takedownStatus };
    app.register(ROUTE_PLUGINS[style], { prefix: base.path, ...lookups });
  }
  done();
};
