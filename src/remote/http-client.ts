// One question to another server over HTTP, bounded in time and in bytes; the answer as it came, nothing followed.
import {
  Agent,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
} from 'node:http';
import { request as requestSecurely, Agent as SecureAgent } from 'node:https';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

export interface Question {
  readonly method?: 'GET' | 'HEAD' | 'OPTIONS';
  /** Path and query, sent exactly as they are written here: nothing is normalised. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Heard {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Every value of a header, as often as it came. */
  readonly all: (name: string) => string[];
  /** Unpacked where it came as gzip. */
  readonly body: Buffer;
}

export interface AskerOptions {
  /** Scheme, host and port; the rest of it is not looked at. */
  readonly origin: URL;
  /** Milliseconds for the whole of question and answer. */
  readonly timeout: number;
  /** Of a body, also once it is unpacked. */
  readonly maxBytes: number;
  readonly connections: number;
}

/** No whole answer came. */
export class AskError extends Error {
  override name = 'AskError';
  /** Whether another try may go better. */
  readonly passing: boolean;
  constructor(message: string, passing: boolean) {
    super(message);
    this.passing = passing;
  }
}

/** An answer came, and more of it than anybody needs. */
export class TooLong extends AskError {
  constructor(maxBytes: number) {
    super(`the body is longer than ${maxBytes} bytes`, false);
  }
}

export type Asker = ReturnType<typeof createAsker>;

export function createAsker({ origin, timeout, maxBytes, connections }: AskerOptions) {
  const secure = origin.protocol === 'https:';
  const agent = new (secure ? SecureAgent : Agent)({ keepAlive: true, maxSockets: connections });
  const address = {
    hostname: origin.hostname.replace(/^\[|\]$/g, ''),
    port: origin.port || (secure ? 443 : 80),
  };

  async function ask({ method = 'GET', path, headers = {} }: Question): Promise<Heard> {
    const signal = AbortSignal.timeout(timeout);
    try {
      const asked = (secure ? requestSecurely : request)({
        ...address,
        agent,
        method,
        path,
        headers,
        signal,
      });
      const response = await responseTo(asked);
      const bodiless = method === 'HEAD' || response.statusCode === 204 || response.statusCode === 304;
      const body = await bytesOf(bodiless ? response : unpacked(response), maxBytes);
      return {
        status: response.statusCode as number,
        headers: response.headers,
        all: (name) =>
          response.rawHeaders.filter((_, i, raw) => i % 2 === 1 && raw[i - 1]?.toLowerCase() === name),
        body,
      };
    } catch (error) {
      if (error instanceof AskError) throw error;
      if (signal.aborted) throw new AskError(`no whole answer within ${timeout / 1000} s`, true);
      throw new AskError(...explained(error as NodeJS.ErrnoException));
    }
  }

  return { ask, close: () => agent.destroy() };
}

function responseTo(asked: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // Errors may come again once there is a response, which then tells them too.
    asked.on('error', reject).on('response', resolve).end();
  });
}

function unpacked(response: IncomingMessage): AsyncIterable<Buffer> {
  if (!/^\s*(x-)?gzip\s*$/i.test(response.headers['content-encoding'] ?? '')) return response;
  return pipeline(response, createGunzip(), () => {});
}

async function bytesOf(chunks: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const kept: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > maxBytes) throw new TooLong(maxBytes);
    kept.push(chunk);
  }
  return Buffer.concat(kept, length);
}

function explained({ code = '', message }: NodeJS.ErrnoException): [message: string, passing: boolean] {
  if (code === 'ECONNREFUSED') return ['nothing listens there', true];
  if (code === 'ENOTFOUND') return ['there is no such host', true];
  if (code === 'ECONNRESET' || code === 'EPIPE') return ['the connection broke off', true];
  if (code.startsWith('Z_')) return ['the gzip data of the body is corrupt', true];
  if (code.startsWith('HPE_')) return [`what came is not HTTP as it should be (${code})`, false];
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code))
    return [`the connection is not secure: ${message}`, false];
  return [message, true];
}
