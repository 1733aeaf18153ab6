// Vitrine as a part of another Fastify app: the two lookups of one variant below the plugin's prefix, with the headers and
// errors of the server. Limits, pages, probes and metrics are the server's alone.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PLUGINS } from '../api/api.ts';
import { createAnswerWriter } from '../api/http/answer.ts';
import { RequestError, sendFailure } from '../api/http/errors.ts';
import { addHeaders, jsonHeaders } from '../api/http/headers.ts';
import { compileInput, parseQuery } from '../api/http/input.ts';
import { readConfig } from '../config/config.ts';
import { openServed } from '../stores/open.ts';
import { STYLES, VARIANT_NAMES, VARIANTS } from '../variants.ts';
import { addOriginHeaders } from './edge/hooks.ts';
import type { VitrineOptions } from './plugin-options.ts';
import { failureCode, refuseOthers } from './responses.ts';

/** The specification's addresses, which the prefix stands for. */
const API = '/api';
const ANY_HOST = { path: '', host: undefined, origin: undefined };

export async function vitrine(app: FastifyInstance, options: VitrineOptions): Promise<void> {
  const { database, variant, prefix: _, ...settings } = options;
  if (typeof database !== 'string' || database === '')
    throw new Error('vitrine: the option `database` must name a SQLite file or a postgres:// address');
  if (!Object.hasOwn(VARIANTS, variant ?? ''))
    throw new Error(
      `vitrine: the option \`variant\` must be ${VARIANT_NAMES.join(', ')}, not ${String(variant)}`,
    );
  const config = readConfig({ ...settings, databaseUrl: database });
  const store = await openServed(config.databaseUrl as string, ({ type, message }) =>
    app.log[type === 'data-fault' ? 'error' : 'info'](message),
  );
  app.addHook('onClose', () => store.close());

  // What the server's own Fastify is made with.
  app.setValidatorCompiler(compileInput);
  app.setSerializerCompiler(() => JSON.stringify);
  app.addHook('preValidation', readQuery);
  addOriginHeaders(app, config);
  addHeaders(app, jsonHeaders(config.corsOrigin));
  app.setErrorHandler(sendError);

  const { style } = VARIANTS[variant];
  app.register(PLUGINS[style], {
    variant,
    base: ANY_HOST,
    store,
    takedownStatus: config.takedownStatus,
    tagUser: undefined,
    addresses: app.prefix === '' ? STYLES[style] : belowApi(STYLES[style]),
    writer: { ...createAnswerWriter(config, () => {}), isPartOfApp: true },
  });
  // Without a prefix, other addresses are the app's own.
  if (app.prefix !== '') app.register(async (others) => refuseOthers(others));
}

const belowApi = ({ profile, items }: (typeof STYLES)['path' | 'query']) => ({
  profile: profile.slice(API.length),
  items: items.slice(API.length),
});

/** Queries are read as the server reads them, whatever the app's parser does. */
function readQuery(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  const { url = '' } = request.raw;
  request.query = parseQuery(url.includes('?') ? url.slice(url.indexOf('?') + 1) : '');
  done();
}

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof RequestError) return void sendFailure(reply, error.code);
  request.log.error(error);
  sendFailure(reply, failureCode(error));
}
