// HTTP requests, raw connections, and what comes back on them.
import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { atEnd } from './at-end.ts';

/** A request that follows at once often comes before the last connection is free: one of those is kept. */
const agent = new Agent({ keepAlive: true, maxFreeSockets: 1 });

const closeConnections = () => agent.destroy();

/** Closes the connections that wait for a next request: a server that stops gives each of them half a second. */
export function dropConnections(): void {
  for (const sockets of Object.values(agent.freeSockets))
    for (const socket of sockets ?? []) socket.destroy();
}

/** A server of any kind. */
export interface Listening {
  readonly port: number;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface AskOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  /** The client's local address. */
  readonly from?: string;
}

/** Requests a path exactly as written. */
export function ask(...args: [server: Listening, path: string, options?: AskOptions]): Promise<Reply> {
  atEnd(closeConnections);
  const [{ port }, path, { method = 'GET', headers = {}, from } = {}] = args;
  return new Promise((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', port, path, method, headers, localAddress: from, agent },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode as number,
            headers: response.headers,
            body: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    // Any server may close an idle connection just when the next request is on its way.
    const isClosed = (error: Error) => asked.reusedSocket && 'code' in error && error.code === 'ECONNRESET';
    asked.on('error', (error) => (isClosed(error) ? resolve(ask(...args)) : reject(error))).end();
  });
}

/** Parses a body as JSON. */
export const json = ({ body }: Pick<Reply, 'body'>) => JSON.parse(body);

/** Opens a connection without sending anything. */
export async function dial({ port }: Listening): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** Everything received on a connection until the server closes it. */
export function hearOut(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  // A reset after the response does not matter.
  socket.on('error', () => {});
  return once(socket, 'close').then(() => Buffer.concat(chunks));
}

/** Sends raw bytes; returns the responses until the server closes the connection. */
export async function sendRaw(server: Listening, bytes: string | Buffer): Promise<Reply[]> {
  const socket = await dial(server);
  const heard = hearOut(socket);
  socket.write(bytes);
  return parseReplies(await heard);
}

/** Splits a stream of HTTP/1.1 responses by their content-length. */
export function parseReplies(bytes: Buffer): Reply[] {
  const replies: Reply[] = [];
  for (let at = 0; at < bytes.length; ) {
    const blank = bytes.indexOf('\r\n\r\n', at);
    if (blank === -1) throw new Error(`a reply without an end of its headers: ${bytes.subarray(at)}`);
    const [first = '', ...lines] = bytes.toString('latin1', at, blank).split('\r\n');
    const match = /^HTTP\/1\.1 (\d{3}) \S/.exec(first);
    if (match === null) throw new Error(`no status line: ${first}`);
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    );
    const end = blank + 4 + Number(headers['content-length'] ?? 0);
    replies.push({ status: Number(match[1]), headers, body: bytes.toString('utf8', blank + 4, end) });
    if (end > bytes.length) throw new Error(`a body shorter than its content-length: ${bytes.subarray(at)}`);
    at = end;
  }
  return replies;
}
