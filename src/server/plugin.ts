// Vitrine as a part of another Fastify app: the two lookups of one variant below the plugin's prefix, with the headers and
// errors of the server. Limits, pages, probes and metrics are the server's alone.

import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { ROUTE_PLUGINS } from '../api/api.ts';
import { createAnswerReplier } from '../api/http/answer.ts';
import { RequestError, sendFailure } from '../api/http/errors.ts';
import { addHeaders, type Headers, jsonHeaders, oneOrigin } from '../api/http/headers.ts';
import { compileInput, parseQuery } from '../api/http/input.ts';
import { plainSchema } from '../api/plain-schema.ts';
import { isDataFault } from '../stores/errors.ts';
import { openServed } from '../stores/open.ts';
import { type LookupAddresses, STYLES, VARIANTS } from '../variants.ts';
import { addOriginHeaders } from './edge/hooks.ts';
import { readOptions, type VitrineOptions } from './plugin-options.ts';
import { refuseOthers } from './responses.ts';

/** The specification's addresses, which the prefix stands for. */
const API = '/api';
const ANY_HOST = { path: '', host: undefined, origin: undefined };

export type { VitrineOptions };

export const vitrine: FastifyPluginAsync<VitrineOptions> = async function vitrine(app, options) {
  const { variant } = options;
  const config = readOptions(options);
  const store = await openServed(config.databaseUrl, ({ type, message }) =>
    app.log[type === 'data-fault' ? 'error' : 'info'](message),
  );
  app.addHook('onClose', () => store.close());

  // What the server's own Fastify is made with.
  app.setValidatorCompiler(compileInput);
  app.setSerializerCompiler(() => serialize);
  app.addHook('preValidation', readQuery);
  addOriginHeaders(app, config);
  const headers = jsonHeaders(config.corsOrigin);
  addHeaders(app, headers);
  if (options.corsOrigin === undefined) leaveCorsToApp(app, headers);
  app.setErrorHandler(sendError);

  const { style } = VARIANTS[variant];
  app.register(ROUTE_PLUGINS[style], {
    variant,
    base: ANY_HOST,
    store,
    takedownStatus: config.takedownStatus,
    tagUser: undefined,
    addresses: app.prefix === '' ? STYLES[style] : belowApi(STYLES[style]),
    sendAnswer: createAnswerReplier(config, headers),
    describe: plainSchema,
  });
  // Without a prefix, other addresses are the app's own.
  if (app.prefix !== '') app.register(async (others) => refuseOthers(others));
};

// biome-ignore lint/style/noDefaultExport: plugins of Fastify have one, and programs load them by their names
export default vitrine;

/** Fastify refuses to register it in other versions. Its tests pass with 6.0.0-alpha.4. */
Object.assign(vitrine, { [Symbol.for('plugin-meta')]: { name: 'vitrine', fastify: '5.x || 6.x' } });

/** With @fastify/cors, the app says which pages may read. Fastify calls its hooks on our routes, also if it is registered later. */
function leaveCorsToApp(app: FastifyInstance, headers: Headers): void {
  app.addHook('onReady', async () => {
    if (!hasCors(app)) return;
    for (const name of Object.keys(oneOrigin('*'))) delete headers[name];
  });
}

/** Fastify lists for a context what was registered before it was made. The contexts around it, its prototypes, list the rest. */
function hasCors(app: FastifyInstance): boolean {
  const parent = Object.getPrototypeOf(app);
  return app.hasPlugin('@fastify/cors') || ('hasPlugin' in parent && hasCors(parent));
}

const belowApi = ({ profile, items }: LookupAddresses) => ({
  profile: profile.slice(API.length),
  items: items.slice(API.length),
});

/** Queries are read as the server reads them, whatever the app's parser does. */
function readQuery(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  const { url = '' } = request.raw;
  request.query = parseQuery(url.includes('?') ? url.slice(url.indexOf('?') + 1) : '');
  done();
}

interface HookError extends Error {
  readonly statusCode?: unknown;
  readonly code?: unknown;
  readonly error?: unknown;
}

/** Without an error handler of the app, Fastify hands over errors of its hooks. */
function serialize(body: unknown): string {
  if (!(body instanceof Error)) return JSON.stringify(body);
  const { statusCode, code, error, message }: HookError = body;
  return JSON.stringify({ statusCode, code, error, message });
}

/** The app answers errors of its own hooks, and unexpected ones. */
function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof RequestError) return void sendFailure(reply, error.code);
  if (!isDataFault(error)) return void reply.send(error);
  request.log.error(error);
  sendFailure(reply, 'NOT_READY');
}
