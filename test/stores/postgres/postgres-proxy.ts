// A TCP proxy in front of a PostgreSQL server: a slow network, or a pooler that drops the options of a session.
import { connect, createServer, type Socket } from 'node:net';

export interface ProxyOptions {
  /** Delay in each direction, in milliseconds. */
  readonly delay?: number;
  /** Drops the startup parameter `options`, as PgBouncer does with ignore_startup_parameters. */
  readonly dropsOptions?: boolean;
  /** Lets clients in, and none of their queries, as a pooler does whose connections are all in use. */
  readonly isFull?: boolean;
}

export async function startProxy(
  port: number,
  { delay = 0, dropsOptions = false, isFull = false }: ProxyOptions = {},
) {
  const sent: string[] = [];
  const sockets = new Set<Socket>();

  function pipe(from: Socket, to: Socket, change: (chunk: Buffer) => Buffer): void {
    sockets.add(from);
    const later = (action: () => void) => (delay === 0 ? action() : void setTimeout(action, delay));
    from.on('data', (chunk) => later(() => to.write(change(chunk))));
    from.on('close', () => later(() => to.destroy()));
    from.on('error', () => {});
  }

  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    let isStart = true;
    pipe(upstream, client, (chunk) => chunk);
    pipe(client, upstream, (chunk) => {
      sent.push(chunk.toString('latin1'));
      const isQuery = !isStart;
      isStart = false;
      if (isFull && isQuery) return Buffer.of();
      return dropsOptions && !isQuery ? withoutOptions(chunk) : chunk;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(server.address() as { port: number }).port}`;
  return {
    address,
    /** Everything clients have sent so far. */
    sent: () => sent.join(''),
    close(): void {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** A StartupMessage is its length, the protocol version, and names and values that each end in a zero. */
function withoutOptions(message: Buffer): Buffer {
  const fields = message.toString('latin1', 8).split('\0');
  const at = fields.indexOf('options');
  if (at >= 0) fields.splice(at, 2);
  const rest = Buffer.from(fields.join('\0'), 'latin1');
  const head = Buffer.from(message.subarray(0, 8));
  head.writeInt32BE(head.length + rest.length);
  return Buffer.concat([head, rest]);
}
