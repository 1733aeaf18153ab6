// At MAX_CONNECTIONS a new connection takes the place of an idle one. A response that is owed is never lost to that.
import { expect, test } from 'vitest';
import { dial, hearOut, parseReplies } from '../../support/http.ts';
import { startHolding } from '../../support/own-server.ts';
import { until } from '../../support/stress.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const LAST = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

test('a response that is owed is never closed as idle, however long its client has been connected', async () => {
  const { own, requests, answer } = await startHolding({ maxConnections: '3' });
  // This one owes nothing for a while, and then again.
  const owing = await dial(own);
  const heard = hearOut(owing);
  owing.write(GET);
  await until('the request', () => requests.length === 1);
  answer();
  await until('the response', () => owing.bytesRead > 0);
  const idle = await dial(own);
  const idleEnds = hearOut(idle);
  owing.write(LAST);
  await until('the request', () => requests.length === 2);
  const others = [await dial(own), await dial(own)];
  await idleEnds;
  expect(owing.readableEnded).toBe(false);
  answer();
  expect(parseReplies(await heard).map(({ status, body }) => [status, body])).toEqual([
    [200, 'x'],
    [200, 'x'],
  ]);
  for (const socket of others) socket.destroy();
});
