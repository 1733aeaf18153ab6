// Refusals of what Node rejects before there is a request: the answer is written to the socket itself.
import type { Socket } from 'node:net';
import type { Config } from '../config/config.ts';
import { type ErrorCode, FAILURES } from '../http/errors.ts';
import { type Headers, JSON_TYPE, METHODS } from '../http/headers.ts';
import { type ParserError, parserFault } from '../http/malformed.ts';
import { STATUS_CODES } from '../http/node-http.ts';
import { afterResponses, isWithinRequest } from './connection.ts';
import { isLingering } from './lingering-close.ts';

export function createRawRefusals({ corsOrigin }: Pick<Config, 'corsOrigin'>) {
  function refuse(socket: Socket, code: ErrorCode): void {
    const { status, body } = FAILURES[code];
    const headers: Headers = {
      'content-type': JSON_TYPE,
      'content-length': String(body.length),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      // With a list of origins nobody knows here who asks.
      ...(corsOrigin === '*' && { 'access-control-allow-origin': '*' }),
      ...(status === 405 && { allow: METHODS }),
      connection: 'close',
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    if (socket.writable)
      socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
    socket.destroySoon();
  }

  return {
    connect(socket: Socket): void {
      // Node leaves this socket to us, with its errors and with what arrives on it.
      socket.on('error', () => socket.destroy()).resume();
      afterResponses(socket, () => refuse(socket, 'METHOD_NOT_ALLOWED'));
    },

    malformed(error: ParserError, socket: Socket): void {
      // Nothing can be said to a client that is gone, nor about a request that has its answer already.
      if (error.code === 'ECONNRESET') socket.destroy();
      else
        afterResponses(socket, () => {
          if (isWithinRequest(socket)) socket.destroySoon();
          else if (!isLingering(socket)) refuse(socket, parserFault(error));
        });
    },
  };
}
