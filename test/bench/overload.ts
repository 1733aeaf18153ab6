// Far more than it can serve: it has to shed with 503 and Retry-After, answer probes, stay alive, and recover.
// `node test/bench/overload.ts [--seconds 30] [--connections 2000] [--pipeline 16] [--max-loop-delay 100ms]`; ends with
// 1 if it does not.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '30' },
    connections: { type: 'string', default: '2000' },
    pipeline: { type: 'string', default: '16' },
    'max-loop-delay': { type: 'string', default: '100ms' },
  },
});
const seconds = Number(values.seconds);
const CONNECTIONS = Number(values.connections);
const PIPELINE = Number(values.pipeline);

if (isMainThread) {
  const args = [
    join(import.meta.dirname, '../../src/vitrine.js'),
    'serve',
    '--port',
    '0',
    '--admin-port',
    '0',
    '--max-loop-delay',
    values['max-loop-delay'],
  ];
  const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    process.exitCode = (await overload(server)) ? 0 : 1;
  } finally {
    server.kill('SIGKILL');
  }
} else await floodFromHere(workerData as number);

async function overload(server: ChildProcess): Promise<boolean> {
  const { url, adminUrl } = await serving(server);
  // A balancer keeps its connection: a new one would wait behind thousands of others to be accepted.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (path: string) =>
    new Promise<number>((resolve, reject) => {
      const sent = request(new URL(path, url), { agent }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode ?? 0));
      });
      sent.once('error', reject).end();
    });
  await ask('/healthz');
  // The flood has a thread of its own, so that what is measured here is the server's tardiness.
  const flood = new Worker(new URL(import.meta.url), { workerData: Number(new URL(url).port) });
  await once(flood, 'message');
  const probes: number[] = [];
  const started = performance.now();
  while (performance.now() - started < seconds * 1000) {
    const asked = performance.now();
    const status = await ask('/healthz');
    if (status !== 200) throw new Error(`healthz answered ${status}`);
    probes.push(performance.now() - asked);
    await delay(200);
  }
  const rss = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024;
  flood.postMessage('stop');
  const [faulty] = (await once(flood, 'message')) as [number];

  const before = performance.now();
  let recovered = 0;
  for (let inRow = 0; inRow < 20 && performance.now() - before < 10_000; ) {
    const status = await ask('/a/api/?user=ada');
    inRow = status === 200 ? inRow + 1 : 0;
    if (inRow === 1) recovered = performance.now() - before;
  }
  agent.destroy();
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
  const counted = [...metrics.matchAll(/^vitrine_requests_total\{.*status="(\d+)"\} (\d+)$/gm)];
  const served = Object.groupBy(counted, ([, status]) => status as string);
  const total = Object.fromEntries(
    Object.entries(served).map(([status, rows]) => [
      status,
      rows?.reduce((sum, [, , count]) => sum + Number(count), 0),
    ]),
  );
  probes.sort((a, b) => a - b);
  const at = (share: number) =>
    (probes[Math.min(probes.length - 1, Math.floor(share * probes.length))] ?? 0).toFixed(0);
  console.log(
    `answered in ${seconds} s over ${CONNECTIONS} connections, ${PIPELINE} requests at a time each: ${JSON.stringify(total)}`,
  );
  console.log(
    `probes meanwhile: ${probes.length}, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, slowest ${at(1)} ms; ${rss.toFixed(0)} MB resident`,
  );

  const checks: [string, boolean][] = [
    ['it shed with 503', (total['503'] ?? 0) > 0],
    ['each 503 said Retry-After', faulty === 0],
    ['it went on serving', (total['200'] ?? 0) > 0],
    ['it stayed alive', server.exitCode === null],
    [`it recovered within ${recovered.toFixed(0)} ms`, recovered > 0],
  ];
  for (const [what, holds] of checks) console.log(`${holds ? 'ok  ' : 'FAIL'} ${what}`);
  return checks.every(([, holds]) => holds);
}

/** Connections that ask for as much as they are answered, many requests ahead, until told to stop. */
async function floodFromHere(port: number): Promise<void> {
  let going = true;
  let faulty = 0;
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, flood));
  parentPort?.postMessage('flooding');
  await once(parentPort as NonNullable<typeof parentPort>, 'message');
  going = false;
  for (const socket of sockets) socket.destroy();
  parentPort?.postMessage(faulty);

  async function flood(): Promise<Socket> {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    await once(socket, 'connect');
    const requests = Array.from(
      { length: PIPELINE },
      (_, nr) =>
        `GET /a/api/?user=${nr % 2 === 0 ? 'ada' : `nobody${nr}`}&x=${nr} HTTP/1.1\r\nHost: x\r\n\r\n`,
    ).join('');
    let answers = 0;
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1');
      answers += text.split('HTTP/1.1 ').length - 1;
      for (const [head] of text.matchAll(/HTTP\/1\.1 503.*?\r\n\r\n/gs))
        if (!/retry-after: \d/i.test(head)) faulty++;
      while (going && answers >= PIPELINE) {
        answers -= PIPELINE;
        socket.write(requests);
      }
    });
    socket.write(requests);
    return socket;
  }
}

async function serving(child: ChildProcess): Promise<{ url: string; adminUrl: string }> {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    const said = JSON.parse(line);
    if (said.msg !== 'serving') continue;
    child.stdout?.resume();
    return said;
  }
  throw new Error('the server did not start');
}
