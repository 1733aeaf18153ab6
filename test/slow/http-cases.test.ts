// HTTP/1.1 requests as bytes, right and wrong, sent whole, cut in two and byte by byte: the responses are always the same.
import { beforeAll, describe, expect, test } from 'vitest';
import { HTTP_CASES, UNFINISHED } from '../http-cases.ts';
import { ask, dial, hearOut, type Server, startServer } from '../rig.ts';
import { linesOf } from '../stress.ts';

/** Follows each case: shows whether the server reads on, and that it takes nothing else for a request. */
const LAST = 'GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
/** Near both ends, and between. */
const CUTS = [0.02, 0.2, 0.5, 0.8, 0.98];

/** Bytes. Longer ones are not sent one by one. */
const SHORT = 250;

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

const cutsOf = ({ length }: string) => new Set(CUTS.map((share) => Math.ceil(share * length)));

describe.concurrent('whole, cut in two, and byte by byte', () => {
  test.each(HTTP_CASES)('$name', async ({ bytes, statuses, open }) => {
    const whole = await exchange([bytes + LAST]);
    expect(statusesOf(whole)).toEqual([...statuses, ...(open ? [404] : [])]);
    for (const at of cutsOf(bytes))
      expect([at, await exchange([bytes.slice(0, at), bytes.slice(at) + LAST])]).toEqual([at, whole]);
    if (bytes.length < SHORT) expect(await exchange([...bytes, LAST], { readBetween: false })).toBe(whole);
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
