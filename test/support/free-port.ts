// A free port below the range of outgoing connections, which may take any other at any time.
import { createServer } from 'node:net';

/** Each worker of the tests has ports of its own, since a port that is free is not taken at once. */
const COUNT = 200;
const PARTS = 100;
const first = 10_000 + (Number(process.env.VITEST_POOL_ID ?? 0) % PARTS) * COUNT;
let next = Math.floor(Math.random() * COUNT);

export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + (next++ % COUNT);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!free) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
