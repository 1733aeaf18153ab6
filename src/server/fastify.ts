// What our two Fastify instances, the server and the admin port, have in common: options, error handling, hooks.
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify';
import { hostKey } from '../config/setting-values.ts';
import { RequestError } from '../http/errors.ts';
import type { Headers } from '../http/headers.ts';
import { LONGEST_URL, pathToRoute } from '../http/malformed.ts';
import { type Operation, OTHER, PREFLIGHT } from '../http/operations.ts';
import { parseQuery } from '../http/query.ts';
import { sendFailure } from '../http/replies.ts';
import { compileInput, compileResponse } from '../http/schema-compilers.ts';
import type { Observer } from '../http/write-answer.ts';
import { StoreError } from '../stores/errors.ts';

type SchemaCompilers = NonNullable<FastifyServerOptions['schemaController']>['compilersFactory'];
type Constraints = NonNullable<NonNullable<FastifyServerOptions['routerOptions']>['constraints']>;

/** A variant whose base address names a host answers on that host only. */
const site: Constraints[string] = {
  name: 'site',
  storage() {
    const sites = new Map();
    return { get: (name) => sites.get(name) ?? null, set: (name, route) => void sites.set(name, route) };
  },
  validate() {},
  deriveConstraint: (request) => hostKey(request.headers.host ?? ''),
};

/**
 * TypeBox's compiler checks the inputs; bodies are sent as they are. Given as a factory, they keep Fastify from loading
 * its own compilers, which takes 25 ms of every start. The cast: Fastify's types know Ajv's compilers only.
 */
const COMPILERS = {
  buildValidator: () => compileInput,
  buildSerializer: () => compileResponse,
} as unknown as SchemaCompilers;

export function fastifyOptions(): FastifyServerOptions {
  return {
    // The HTTP server does it.
    clientErrorHandler() {},
    rewriteUrl: (request) => pathToRoute(request),
    // While stopping, requests that still arrive are answered like the rest.
    return503OnClosing: false,
    schemaController: { compilersFactory: COMPILERS },
    routerOptions: {
      maxParamLength: LONGEST_URL,
      querystringParser: (text) => ({ ...parseQuery(text) }),
      constraints: { site },
    },
  };
}

/** Logs an error of ours; the id under which the client may ask about it. */
export type FaultLogger = (request: IncomingMessage, error: unknown) => string;

export function addErrorHandlers(app: FastifyInstance, logFault: FaultLogger): void {
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof RequestError) return void sendFailure(reply, error.code);
    reply.header('x-request-id', logFault(request.raw, error));
    sendFailure(reply, isDataFault(error) ? 'NOT_READY' : 'INTERNAL');
  });
}

const isDataFault = (error: unknown) =>
  error instanceof StoreError || (error instanceof Error && error.name === 'SqliteError');

/** Completes every response that is sent through a reply, and reports it. */
export function addResponseHook(app: FastifyInstance, headers: Headers, observe: Observer): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    // Pages bring headers of their own.
    if (!reply.hasHeader('x-content-type-options')) reply.headers(headers);
    observe(request.raw, operationOf(request), reply.statusCode, lengthOf(payload, reply));
    done();
  });
}

function lengthOf(payload: unknown, reply: FastifyReply): number {
  if (typeof payload === 'string') return Buffer.byteLength(payload);
  if (Buffer.isBuffer(payload)) return payload.length;
  // Routes that stream know the length.
  return payload ? Number(reply.getHeader('content-length')) : 0;
}

function operationOf({ method, query, routeOptions, addressed }: FastifyRequest): Operation {
  if (method === 'OPTIONS') return PREFLIGHT;
  const { operation = OTHER } = addressed ?? routeOptions.config;
  return typeof operation === 'function' ? operation(query) : operation;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What requests of the route are counted as; it may depend on the query. */
    operation?: Operation | ((query: unknown) => Operation);
  }
}
