// HTTP/1.1 requests as bytes, right and wrong, sent whole and cut at each byte: the responses are always the same.
import { beforeAll, describe, expect, test } from 'vitest';
import { HTTP_CASES, UNFINISHED } from '../http-cases.ts';
import { ask, dial, hearOut, type Server, startServer } from '../rig.ts';
import { linesOf } from '../stress.ts';

/** Follows each case: shows whether the server reads on, and that it takes nothing else for a request. */
const LAST = 'GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
/** Long requests are cut at some of their bytes. */
const MOST_CUTS = 250;
/** An ordinary account has 1,024 descriptors for all cases that run beside each other, at two connections a cut. */
const AT_ONCE = 40;

let server: Server;
beforeAll(async () => {
  server = await startServer();
});

/** Everything the server sends until it closes the connection, without dates. */
async function exchange(
  pieces: readonly string[],
  { readBetween = true, ends = false } = {},
): Promise<string> {
  const socket = await dial(server);
  socket.setNoDelay(true);
  const heard = hearOut(socket);
  for (const [index, piece] of pieces.entries()) {
    // When this is answered, the server has read the piece before.
    if (index > 0 && readBetween) await ask(server, '/healthz');
    if (socket.writable) socket.write(Buffer.from(piece, 'latin1'));
  }
  if (ends) socket.end();
  return (await heard).toString('latin1').replace(/^date: .*\r\n/gim, '');
}

const statusesOf = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

function cutsOf({ length }: string): number[] {
  const all = Array.from({ length: Math.max(length - 1, 0) }, (_, index) => index + 1);
  const step = Math.ceil((2 * length) / MOST_CUTS);
  return all.filter((at) => length <= MOST_CUTS || at < MOST_CUTS / 2 || at % step === 0);
}

describe.concurrent('whole, cut at each byte, and byte by byte', () => {
  test.each(HTTP_CASES)('$name', async ({ bytes, statuses, open }) => {
    const whole = await exchange([bytes + LAST]);
    expect(statusesOf(whole)).toEqual([...statuses, ...(open ? [404] : [])]);
    const cuts = cutsOf(bytes);
    while (cuts.length > 0)
      await Promise.all(
        cuts.splice(0, AT_ONCE).map(async (at) => {
          const cut = await exchange([bytes.slice(0, at), bytes.slice(at) + LAST]);
          expect([at, cut]).toEqual([at, whole]);
        }),
      );
    if (bytes.length < MOST_CUTS)
      expect(await exchange([...bytes, LAST], { readBetween: false })).toBe(whole);
  });
});

describe.concurrent('ended by the client', () => {
  test.each(UNFINISHED)('$name', async ({ bytes, statuses }) => {
    expect(statusesOf(await exchange([bytes], { ends: true }))).toEqual(statuses);
    for (const at of cutsOf(bytes))
      expect(statusesOf(await exchange([bytes.slice(0, at), bytes.slice(at)], { ends: true }))).toEqual(
        statuses,
      );
  });
});

test('the server still answers afterwards and has logged no error', async () => {
  expect((await ask(server, '/a/api/?user=ada')).status).toBe(200);
  expect(linesOf(server).filter(({ level }) => level > 40)).toEqual([]);
});
