// A worker thread that keeps many connections busy with pipelined requests while the main thread measures.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';

export interface Flood {
  readonly port: number;
  readonly connections: number;
  /** Requests sent ahead on each connection. */
  readonly pipeline: number;
}

const { port, connections, pipeline } = workerData as Flood;
const parent = parentPort as MessagePort;

const requests = Array.from({ length: pipeline }, (_, nth) => {
  const user = nth % 2 === 0 ? 'ada' : `nobody${nth}`;
  return `GET /a/api/?user=${user}&x=${nth} HTTP/1.1\r\nHost: x\r\n\r\n`;
}).join('');

let flooding = true;
/** Responses with 503 that lack Retry-After. */
let faulty = 0;

/** Sends the next requests when the last ones have been answered. */
async function flood(): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  let answers = 0;
  socket.on('data', (chunk) => {
    const text = chunk.toString('latin1');
    answers += text.split('HTTP/1.1 ').length - 1;
    for (const [head] of text.matchAll(/HTTP\/1\.1 503.*?\r\n\r\n/gs))
      if (!/retry-after: \d/i.test(head)) faulty++;
    while (flooding && answers >= pipeline) {
      answers -= pipeline;
      socket.write(requests);
    }
  });
  socket.write(requests);
  return socket;
}

const sockets = await Promise.all(Array.from({ length: connections }, flood));
parent.postMessage('flooding');
await once(parent, 'message');
flooding = false;
for (const socket of sockets) socket.destroy();
parent.postMessage(faulty);
parent.close();
