// Attacks on a server that stands without a proxy. Each says what one client does with one connection; when that is closed,
// the client comes again. `node test/support/attacks.ts NAME WHERE CLIENTS` runs one until its parent ends it: it sends
// `begun` when each client has connected, and on `go` lets those send that wait for it, and sends `gone`.

import { connect, type Socket } from 'node:net';

export interface Attack {
  readonly clients: number;
  /** What the client does; one that waits for `go` gives what it sends then. */
  start(socket: Socket, nth: number): string | undefined;
  /** How long a client stays away, in ms. */
  readonly rest: number;
  /** Whether it goes to the admin port. */
  readonly admin?: true;
}

const get = (path: string, ...headers: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n');

const PERSON = '/b/api/username/ada';
const LIST = `${PERSON}/shots`;
const PAGE = get('/people/b/ada', 'Accept: text/html', 'Accept-Encoding: gzip');
/** In one read of 64 KB there are 11,000. */
const CHUNKS = '1\r\na\r\n'.repeat(11_000);
const JUNK = 'x'.repeat(65_536);
const LONG = 'x'.repeat(8000);
const SHORT = Array.from({ length: 700 }, (_, nth) => `h${nth}:${nth}`);

const post = (...headers: string[]) => get(PERSON, ...headers).replace('GET', 'POST');

/** Sends these bytes, then the others again and again, as fast as the server takes them. */
const pour = (first: string, again: string) => (socket: Socket) => {
  const bytes = Buffer.from(again, 'latin1');
  socket.resume().write(first);
  const send = () => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', send);
  send();
  return undefined;
};

/** Sends these bytes at once, and a byte of the rest each second. */
const drip = (first: string, rest: string) => (socket: Socket) => {
  socket.resume().write(first);
  const dripping = setInterval(() => socket.write(rest), 1000);
  socket.once('close', () => clearInterval(dripping));
  return undefined;
};

/** Asks and takes no byte. It learns that the connection is gone when it writes. */
const ignoreAnswers = (requests: string) => (socket: Socket) => {
  drip(requests, 'x')(socket);
  socket.pause();
  return undefined;
};

/** Sends once, and waits. */
const hoard = (bytes: string) => (socket: Socket) => {
  socket.resume().write(bytes);
  return undefined;
};

/** Sends at a sign, together with all others. */
const together = (bytes: string) => (socket: Socket) => {
  socket.resume();
  return bytes;
};

/** Each waits for an answer, and good clients have places left: with 128 MB there are 819. */
const MOST_BUSY = 770;

const attack = (clients: number, start: Attack['start'], rest = 20): Attack => ({ clients, start, rest });

export const ATTACKS = {
  // Bodies.
  'endless chunks of a byte': attack(100, pour(get(PERSON, 'Transfer-Encoding: chunked'), CHUNKS)),
  'endless chunks behind a refused POST': attack(100, pour(post('Transfer-Encoding: chunked'), CHUNKS)),
  'endless chunks after Expect': attack(
    100,
    pour(post('Transfer-Encoding: chunked', 'Expect: 100-continue'), CHUNKS),
  ),
  'an endless body of a known length': attack(100, pour(get(PERSON, 'Content-Length: 999999999999'), JUNK)),
  'an endless body behind a refused POST': attack(100, pour(post('Content-Length: 999999999999'), JUNK)),
  // Bytes that are no request.
  'endless bytes behind a last response': attack(100, pour(get(PERSON, 'Connection: close'), JUNK)),
  'endless bytes behind an upgrade': attack(
    100,
    pour(get(PERSON, 'Connection: upgrade', 'Upgrade: websocket'), JUNK),
  ),
  'endless bytes from the first on': attack(100, pour('', JUNK)),
  // Pipelines.
  'pipelines of 1,000 lists, unread': attack(400, ignoreAnswers(get(LIST).repeat(1000))),
  'pipelines of 2,000 small requests': attack(200, pour('', get('/healthz').repeat(2000))),
  'endless requests with headers of 8,000 bytes': attack(200, pour('', get(PERSON, `X: ${LONG}`).repeat(4))),
  'eight lists each, unread': attack(1000, ignoreAnswers(get(LIST).repeat(8))),
  'four large documents each, unread': attack(100, ignoreAnswers(get('/openapi.json').repeat(4))),
  'four lists each, all at once': attack(MOST_BUSY, together(get(LIST).repeat(4)), 200),
  'eight lists each, all at once': attack(MOST_BUSY, together(get(LIST).repeat(8)), 200),
  'four pages each, all at once': attack(MOST_BUSY, together(PAGE.repeat(4)), 200),
  'four lists each, all at once, unread': attack(
    MOST_BUSY,
    (socket) => {
      socket.pause();
      return get(LIST).repeat(4);
    },
    200,
  ),
  'endless requests with a body of 16 KB': attack(
    200,
    pour('', get(PERSON, 'Content-Length: 16384') + JUNK.slice(0, 16_384)),
  ),
  'four lists each, reset': attack(
    50,
    (socket) => {
      socket.resume().write(get(LIST).repeat(4));
      setTimeout(() => socket.resetAndDestroy(), 5);
      return undefined;
    },
    0,
  ),
  // The admin port.
  'pipelines of 1,000 metrics, unread': {
    ...attack(100, ignoreAnswers(get('/metrics').repeat(1000))),
    admin: true,
  },
  'endless chunks of a byte to the admin port': {
    ...attack(100, pour(get('/healthz', 'Transfer-Encoding: chunked'), CHUNKS)),
    admin: true,
  },
  'endless questions for metrics': { ...attack(200, pour('', get('/metrics'))), admin: true },
  // Connections.
  'idle connections': attack(4000, hoard(get(PERSON)), 500),
  'silent connections': attack(4000, hoard(''), 500),
  'unfinished headers': attack(2000, hoard(get(PERSON, `X: ${LONG}`).slice(0, -4)), 500),
  'unfinished headers of few bytes': attack(MOST_BUSY, hoard(get('/healthz', ...SHORT).slice(0, -2)), 500),
  'slow headers': attack(1000, drip(get(PERSON).slice(0, -2), 'a: b\r\n'), 200),
  'slow bodies': attack(1000, drip(post('Content-Length: 100000'), 'x'), 200),
  'connections that are reset': attack(
    100,
    (socket) => {
      socket.once('data', () => socket.resetAndDestroy()).write(get(PERSON));
      return undefined;
    },
    0,
  ),
  // Large pages of nothing.
  'paths of 8,000 slashes': attack(
    50,
    hoard(get('/'.repeat(8000), 'Accept: text/html', 'Connection: close')),
    0,
  ),
} satisfies Record<string, Attack>;

export type AttackName = keyof typeof ATTACKS;

/** A port of this machine, or the path of a unix socket. */
function dial(where: string, nth: number): Socket {
  // One address has 28,000 ports.
  const localAddress = `127.0.0.${3 + (nth % 4)}`;
  return where.startsWith('/')
    ? connect(where)
    : connect({ port: Number(where), host: '127.0.0.1', localAddress });
}

function run(name: AttackName, where: string, clients: number): void {
  const { start, rest } = ATTACKS[name];
  const waiting = new Map<Socket, string>();
  let begun = 0;

  function come(nth: number, isFirst: boolean): void {
    const socket = dial(where, nth);
    socket.setNoDelay().on('error', () => {});
    socket.once('connect', () => {
      const later = start(socket, nth);
      if (later !== undefined) waiting.set(socket, later);
    });
    let isNoted = !isFirst;
    const note = () => {
      if (isNoted) return;
      isNoted = true;
      if (++begun === clients) process.send?.('begun');
    };
    // A connection that is refused has begun as well.
    socket.once('connect', note).once('close', () => {
      note();
      waiting.delete(socket);
      setTimeout(come, rest, nth, false);
    });
  }

  process.on('message', () => {
    for (const [socket, bytes] of waiting) socket.write(bytes);
    process.send?.('gone');
  });
  for (let nth = 0; nth < clients; nth++) come(nth, true);
}

if (import.meta.main) {
  const [name, where = '', clients] = process.argv.slice(2);
  run(name as AttackName, where, Number(clients));
}
