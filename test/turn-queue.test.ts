// Requests of one turn of the event loop are handled together.
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createTurnQueue } from '../src/edge/turn-queue.ts';

function exchange(
  url: string,
): [IncomingMessage, ServerResponse<IncomingMessage> & { req: IncomingMessage }] {
  const request = new IncomingMessage(new Socket());
  request.url = url;
  return [request, new ServerResponse(request)];
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('handles them in order, after all have arrived', async () => {
  const handled: unknown[] = [];
  const enqueue = createTurnQueue(
    ({ url }) => void handled.push(url),
    () => {},
  );
  for (const url of ['/1', '/2', '/3']) enqueue(...exchange(url));
  expect(handled).toEqual([]);
  await turn();
  expect(handled).toEqual(['/1', '/2', '/3']);
  enqueue(...exchange('/4'));
  await turn();
  expect(handled).toEqual(['/1', '/2', '/3', '/4']);
});

test('one that throws is reported, and the others are handled all the same', async () => {
  const handled: unknown[] = [];
  const failed: unknown[] = [];
  const handle = ({ url }: IncomingMessage) => {
    if (url === '/2') throw new Error('no');
    handled.push(url);
  };
  const enqueue = createTurnQueue(
    handle,
    (error, { req }) => void failed.push([(error as Error).message, req.url]),
  );
  for (const url of ['/1', '/2', '/3']) enqueue(...exchange(url));
  await turn();
  expect([handled, failed]).toEqual([['/1', '/3'], [['no', '/2']]]);
});

test('requests that arrive while others are handled wait for the next turn', async () => {
  const handled: unknown[] = [];
  const enqueue = createTurnQueue(
    ({ url }) => {
      handled.push(url);
      if (url === '/1') enqueue(...exchange('/later'));
    },
    () => {},
  );
  for (const url of ['/1', '/2']) enqueue(...exchange(url));
  await turn();
  expect(handled).toEqual(['/1', '/2']);
  await turn();
  expect(handled).toEqual(['/1', '/2', '/later']);
});
