// Errors that are written past the router: for requests that must not reach it, and for bytes that are no request.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Config } from '../config/config.ts';
import { type Headers, JSON_TYPE, jsonHeaders, METHODS } from '../http/answer.ts';
import { type ErrorCode, FAILURES } from '../http/errors.ts';
import { type ParserError, parserFault } from '../http/malformed.ts';
import * as http from '../http/node-http.ts';
import { type Observer, OTHER } from '../http/observations.ts';
import { findConnection } from './connection.ts';
import { originHeaders } from './cors.ts';
import type { RateLimit } from './limits.ts';

export interface RefusalOptions {
  readonly config: Config;
  readonly rateLimit?: RateLimit | undefined;
  readonly observe: Observer;
}

export type Refusals = ReturnType<typeof createRefusals>;

export function createRefusals({ config, rateLimit, observe }: RefusalOptions) {
  const common = {
    'content-type': JSON_TYPE,
    'cache-control': 'no-store',
    ...jsonHeaders(config.corsOrigin),
  };

  /** Answers a request with an error, or with 429 if its client is over the rate. */
  function refuse(request: IncomingMessage, response: ServerResponse, fault: ErrorCode): void {
    const allowance = rateLimit?.(request);
    const { status, body } = FAILURES[allowance?.refused ? 'RATE_LIMITED' : fault];
    const headers: Headers = {
      ...common,
      ...originHeaders(config, request),
      ...allowance?.headers,
      'content-length': String(body.length),
      ...(status === 405 && { allow: METHODS }),
    };
    // Elsewhere nobody knows where the next request begins, or whether the client meant this server.
    if (fault !== 'BAD_ESCAPE') {
      headers.connection = 'close';
      findConnection(request.socket).end();
    }
    response.writeHead(status, headers).end(body);
    observe({ type: 'response', request, operation: OTHER, status, bytes: body.length });
  }

  /** Answers what Node's parser rejects, when the answers before it are written. */
  function refuseBytes(error: ParserError, socket: Socket): void {
    const connection = findConnection(socket);
    // Nothing can be said to a client that is gone.
    if (error.code === 'ECONNRESET' || socket.destroyed) return void socket.destroy();
    connection.end(() => {
      // Nor about a request that has its answer already.
      if (connection.isWithinRequest) return socket.destroySoon();
      const request = new http.IncomingMessage(socket);
      // How far the parser came with it is not known.
      request.method = '';
      const response = new http.ServerResponse(request);
      response.once('finish', () => socket.destroySoon()).assignSocket(socket);
      refuse(request, response, parserFault(error));
    });
  }

  return { refuse, refuseBytes };
}
