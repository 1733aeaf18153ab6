// Errors that are written past the router: to requests that must not reach it, and to bytes that are no request.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Config } from '../config/config.ts';
import { type ErrorCode, FAILURES } from '../http/errors.ts';
import { type Headers, JSON_TYPE, jsonHeaders, METHODS } from '../http/headers.ts';
import { isHead, type ParserError, parserFault } from '../http/malformed.ts';
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

export function createRefusals({ config, rateLimit, observe }: RefusalOptions) {
  const common = {
    'content-type': JSON_TYPE,
    'cache-control': 'no-store',
    ...jsonHeaders(config.corsOrigin),
  };

  /** What a request gets that must not be routed, or 429 if its client is over the rate. */
  function describe(request: IncomingMessage, fault: ErrorCode) {
    const allowance = rateLimit?.(request);
    const { status, body } = FAILURES[allowance?.refused ? 'RATE_LIMITED' : fault];
    const headers: Headers = {
      ...common,
      ...originHeaders(config, request),
      ...allowance?.headers,
      'content-length': String(body.length),
      ...(status === 405 && { allow: METHODS }),
      // Elsewhere it is not known where the next request begins, or whether the client meant this server.
      ...(fault !== 'BAD_ESCAPE' && { connection: 'close' }),
    };
    return { status, headers, body };
  }

  function refuse(request: IncomingMessage, response: ServerResponse, fault: ErrorCode): void {
    const { status, headers, body } = describe(request, fault);
    if (headers.connection === 'close') findConnection(request.socket).end();
    response.writeHead(status, headers).end(body);
    const bytes = request.method === 'HEAD' ? 0 : body.length;
    observe({ type: 'response', request, operation: OTHER, status, bytes });
  }

  /** Answers what Node's parser rejects, when the answers before it are written. */
  function refuseBytes(error: ParserError, socket: Socket): void {
    const connection = findConnection(socket);
    // The client is gone.
    if (error.code === 'ECONNRESET' || socket.destroyed) return void socket.destroy();
    // A request that has its answer gets no other one for its body.
    if (connection.isWithinRequest) return connection.end();
    connection.end(() => {
      const request = new http.IncomingMessage(socket);
      // How far the parser came with it is not known.
      request.method = '';
      const { status, headers, body } = describe(request, parserFault(error));
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${lines.join('')}\r\n`);
      const sent = isHead(error) ? '' : body;
      socket.write(sent);
      observe({ type: 'response', request, operation: OTHER, status, bytes: sent.length });
    });
  }

  return { refuse, refuseBytes };
}
