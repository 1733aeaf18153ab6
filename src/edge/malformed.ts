// What Node rejects before there is a request: the answer is written to the socket as it is.
import type { Socket } from 'node:net';
import type { Config } from '../config/config.ts';
import { type ErrorCode, FAILURES } from '../http/errors.ts';
import { STATUS_CODES } from '../http/node-http.ts';
import { afterAnswers, isLingering, isWithinRequest } from './connection.ts';

/** Longer than any address that can be meant: a name of 255 characters takes 3,060 bytes at most. */
export const LONGEST_URL = 8 * 1024;

export function createRefusals({ corsOrigin }: Pick<Config, 'corsOrigin'>) {
  // With a list of origins nobody knows here who asks.
  const cors = corsOrigin === '*' ? ['access-control-allow-origin', '*'] : [];

  function refuse(socket: Socket, code: ErrorCode, more: readonly string[] = []): void {
    const { status, body } = FAILURES[code];
    const headers = [
      ...['content-type', 'application/json; charset=utf-8', 'content-length', String(body.length)],
      ...['cache-control', 'no-store', 'x-content-type-options', 'nosniff', ...cors],
      ...['connection', 'close', ...more],
    ];
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
    if (socket.writable) socket.write(`${head}\r\n${body}`);
    socket.destroySoon();
  }

  return {
    refuse,

    malformed(error: Malformed, socket: Socket): void {
      // Nothing can be said to a client that is gone, nor of a request that has its answer already.
      if (error.code === 'ECONNRESET') socket.destroy();
      else
        afterAnswers(socket, () => {
          if (isWithinRequest(socket)) socket.destroySoon();
          else if (!isLingering(socket)) refuse(socket, codeOf(error));
        });
    },
  };
}

interface Malformed extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
}

function codeOf({ code, rawPacket }: Malformed): ErrorCode {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'REQUEST_TIMEOUT';
  if (code !== 'HPE_HEADER_OVERFLOW') return 'BAD_REQUEST';
  // The limit covers the request line as well: when that is too long alone, or had not ended, the address is at fault.
  const lineEnd = rawPacket?.indexOf('\n') ?? -1;
  return lineEnd === -1 || lineEnd > LONGEST_URL ? 'URI_TOO_LONG' : 'HEADERS_TOO_LARGE';
}
