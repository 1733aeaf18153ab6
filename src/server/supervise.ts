// WORKERS > 1: several processes share one port. The supervisor starts, replaces and stops them and adds up their metrics.
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { platform } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { Registry } from '@prometheus-io/client';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { buildAdmin } from './admin.ts';
import { closeInTime } from './close-in-time.ts';
import { type Running, type StartOptions, serve } from './serve.ts';
import { WorkerFailed } from './worker-failed.ts';

/** A worker that dies this early is replaced after a pause, so that a lasting cause does not loop. */
const YOUNG_MS = 5000;
const PAUSE_MS = 1000;
const ANSWER_MS = 2000;

/** What the supervisor asks its workers, and what they answer. */
interface Answers {
  readonly unready: string | null;
  /** Null when they cannot be read. */
  readonly metrics: MetricObject[] | null;
}
type Question = keyof Answers;
type FromWorker = { readonly serving?: string } & Partial<Answers>;
type MetricObject = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number];

export async function supervise(
  config: Config,
  log: Logger,
  { signal, inherited }: StartOptions = {},
): Promise<Running> {
  signal?.throwIfAborted();
  const workers = createWorkers(log);
  signal?.addEventListener('abort', () => void workers.stop(), { once: true });
  const admin = config.adminPort === undefined ? undefined : buildWorkersAdmin(config, log, workers);

  async function stop(): Promise<void> {
    await workers.stop();
    if (admin !== undefined) await closeInTime(admin, config.shutdownGrace);
  }

  try {
    const adminUrl = await admin?.listen({ host: config.adminHost, port: config.adminPort ?? 0 });
    // Such a socket cannot be opened once more by each worker: they accept from the one.
    if (inherited !== undefined || config.host.startsWith('/')) cluster.schedulingPolicy = cluster.SCHED_NONE;
    else await choosePort(config);
    // The first one alone, so that faults in settings or data are reported once.
    const url = await workers.start();
    await Promise.all(Array.from({ length: config.workers - 1 }, workers.start));
    return { url, adminUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Each worker accepts its own connections (SO_REUSEPORT). If the supervisor handed them over, those on their way to a
 * worker that dies would stay open for ever. Workers that accept from one shared socket (SCHED_NONE) share unevenly: of
 * four workers with 32 keep-alive connections, two answered 94% and 100% of the requests in two runs; this way the busiest
 * answered 32% and 43%. With 256 connections both are even.
 * The kernel would let the workers of another Vitrine share the port as well, so it must be free before they start.
 */
async function choosePort({ host, port }: Config): Promise<void> {
  const probe = createServer((socket) => socket.destroy()).listen({ host, port });
  await once(probe, 'listening');
  const chosen = (probe.address() as AddressInfo).port;
  probe.close();
  await once(probe, 'close');
  cluster.setupPrimary();
  cluster.setupPrimary({ args: [...(cluster.settings.args ?? []), '--port', String(chosen)] });
}

/** Only Linux spreads connections over such sockets; elsewhere the supervisor hands them over. */
const REUSE_PORT = platform() === 'linux';

/** Starts workers, and replaces those that die. */
function createWorkers(log: Logger) {
  const listening = new Set<Worker>();
  let stopping = false;

  /** Starts one worker; resolves to its address when it serves. */
  async function start(): Promise<string> {
    if (stopping) throw new Error('the server is stopping');
    const worker = cluster.fork();
    const started = performance.now();
    const serving = Promise.withResolvers<string>();
    worker.on('message', (message: FromWorker) => {
      if (message.serving === undefined) return;
      listening.add(worker);
      serving.resolve(message.serving);
    });
    worker.once('exit', (code, signal) => {
      serving.reject(code === null ? killed(signal) : new WorkerFailed(code));
      if (!listening.delete(worker) || stopping) return;
      log.error({ worker: worker.id, code, signal }, 'a worker died and is being replaced');
      void replace(performance.now() - started < YOUNG_MS ? PAUSE_MS : 0);
    });
    return serving.promise;
  }

  async function replace(pause: number): Promise<void> {
    await delay(pause);
    if (stopping) return;
    try {
      await start();
    } catch {
      await replace(PAUSE_MS);
    }
  }

  return {
    start,

    /** Ready while any worker is. */
    async unready(): Promise<string | undefined> {
      if (stopping) return 'The server is stopping.';
      const answers = await Promise.all([...listening].map((worker) => ask(worker, 'unready')));
      if (answers.includes(null)) return undefined;
      return answers.length === 0 ? 'No worker is running.' : (answers.find(Boolean) ?? 'No worker answers.');
    },

    /** Added up, without those of a worker that has just died or does not answer. */
    async metrics(): Promise<string> {
      const answers = await Promise.all([...listening].map((worker) => ask(worker, 'metrics')));
      return Registry.aggregate(answers.filter((answer) => answer != null)).metrics();
    },

    async stop(): Promise<void> {
      stopping = true;
      await Promise.all((Object.values(cluster.workers ?? {}) as Worker[]).map(end));
    },
  };
}

async function end(worker: Worker): Promise<void> {
  if (worker.isDead()) return;
  const exit = once(worker, 'exit');
  worker.process.kill('SIGTERM');
  await exit;
}

const killed = (signal: string) => new Error(`a worker was ended by ${signal} before it could serve`);

type Workers = ReturnType<typeof createWorkers>;

/** The admin port of all workers. */
function buildWorkersAdmin(config: Config, log: Logger, { unready, metrics }: Workers) {
  return buildAdmin({
    config,
    unready,
    logFault(_request, error) {
      log.error({ err: error }, 'request failed');
      return '';
    },
    observe() {},
    metrics: async () => ({ type: Registry.PROMETHEUS_CONTENT_TYPE, text: await metrics() }),
  });
}

/** Undefined when the worker is gone or does not answer in time. */
async function ask<Q extends Question>(worker: Worker, question: Q): Promise<Answers[Q] | undefined> {
  const gone = new AbortController();
  const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(ANSWER_MS)]);
  try {
    // Without a callback, a worker that has just died would end this process with an 'error' event.
    worker.send({ ask: question }, (error) => error && gone.abort());
    for (;;) {
      const [message] = (await once(worker, 'message', { signal })) as [Partial<Answers>];
      if (question in message) return message[question];
    }
  } catch {
    return undefined;
  }
}

/** The worker's side: serves, and answers the supervisor's questions. */
export async function serveAsWorker(
  config: Config,
  log: Logger,
  options: StartOptions = {},
): Promise<Running> {
  const worker = cluster.worker as Worker;
  const { registry, unready, ...running } = await serve(
    { ...config, adminPort: undefined },
    log.child({ worker: worker.id }),
    { ...options, reusePort: REUSE_PORT },
  );
  const metrics = await registry();
  const readMetrics = () =>
    metrics.getMetricsAsJSON().catch((error) => {
      log.error({ err: error }, 'metrics cannot be read');
      return null;
    });
  // Without the supervisor, nobody reads messages; Node then ends the worker.
  const tell = (message: FromWorker) => worker.send(message, () => {});
  worker.on('message', async ({ ask }: { ask?: Question }) => {
    if (ask === 'unready') tell({ unready: (await unready()) ?? null });
    if (ask === 'metrics') tell({ metrics: await readMetrics() });
  });
  tell({ serving: running.url });
  return running;
}
