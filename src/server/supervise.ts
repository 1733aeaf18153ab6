// WORKERS > 1: several processes share one port. The supervisor starts, replaces and stops them and adds up their metrics.
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { platform } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { Registry } from '@prometheus-io/client';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { type Admin, type AdminOptions, type Health, openAdmin } from './admin.ts';
import { type RunningServer, type StartOptions, serve, WorkerFailed } from './serve.ts';

/** A worker that dies this early is replaced after a pause, so that a lasting cause does not loop. */
const YOUNG_MS = 5000;
const PAUSE_MS = 1000;
const ANSWER_MS = 2000;

/** What the supervisor asks its workers, and what they answer. */
interface Answers {
  readonly health: Health;
  /** Null when they cannot be read. */
  readonly metrics: MetricObject[] | null;
}
type Question = keyof Answers;
type MetricObject = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number];

type FromWorker =
  | { readonly serving: string }
  | { readonly question: Question; readonly answer: Answers[Question] };

export async function supervise(
  config: Config,
  log: Logger,
  { signal, inherited }: StartOptions = {},
): Promise<RunningServer> {
  signal?.throwIfAborted();
  const workers = createWorkers(log);
  signal?.addEventListener('abort', () => void workers.stop(), { once: true });
  let admin: Admin | undefined;

  async function stop(): Promise<void> {
    await workers.stop();
    await admin?.close();
  }

  try {
    admin = await openAdmin(adminOfAll(config, log, workers));
    // Such a socket cannot be opened once more by each worker: they accept from the one.
    if (inherited !== undefined || config.host.startsWith('/')) cluster.schedulingPolicy = cluster.SCHED_NONE;
    else await choosePort(config);
    // The first one alone, so that faults in settings or data are reported once.
    const url = await workers.start();
    await Promise.all(Array.from({ length: config.workers - 1 }, workers.start));
    return { url, adminUrl: admin?.url, stop };
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
  const serving = new Set<Worker>();
  let stopping = false;

  /** Starts one worker; resolves to its address when it serves. */
  async function start(): Promise<string> {
    if (stopping) throw new Error('the server is stopping');
    const worker = cluster.fork();
    const start = performance.now();
    const started = Promise.withResolvers<string>();
    // Each question that waits for its answer listens.
    worker.setMaxListeners(0);
    worker.on('message', (message: FromWorker) => {
      if ('question' in message) return void worker.emit(message.question, message.answer);
      serving.add(worker);
      started.resolve(message.serving);
    });
    worker.once('exit', (code, signal) => {
      started.reject(code === null ? killed(signal) : new WorkerFailed(code));
      if (!serving.delete(worker) || stopping) return;
      log.error({ worker: worker.id, code, signal }, 'a worker died and is being replaced');
      void replace(performance.now() - start < YOUNG_MS ? PAUSE_MS : 0);
    });
    return started.promise;
  }

  async function replace(pause: number): Promise<void> {
    await delay(pause);
    if (!stopping) await start().catch(() => replace(PAUSE_MS));
  }

  return {
    start,
    health: async () => (stopping ? { unready: 'The server is stopping.' } : await findHealth(serving)),
    metrics: () => addUpMetrics(serving),

    async stop(): Promise<void> {
      stopping = true;
      await Promise.all((Object.values(cluster.workers ?? {}) as Worker[]).map(end));
    },
  };
}

const askAll = <Q extends Question>(workers: ReadonlySet<Worker>, question: Q) =>
  Promise.all([...workers].map((worker) => ask(worker, question)));

/** Requests may come while any worker is ready. */
async function findHealth(workers: ReadonlySet<Worker>): Promise<Health> {
  const answers = (await askAll(workers, 'health')).filter((answer) => answer !== undefined);
  const { unready } = answers.find((answer) => answer.unready === undefined) ??
    answers[0] ?? { unready: workers.size === 0 ? 'No worker is running.' : 'No worker answers.' };
  return { unready, waiting: answers.find(({ waiting }) => waiting !== undefined)?.waiting };
}

/** Without those of a worker that has just died or does not answer. */
async function addUpMetrics(workers: ReadonlySet<Worker>): Promise<string> {
  const answers = await askAll(workers, 'metrics');
  return Registry.aggregate(answers.filter((answer) => answer != null)).metrics();
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
const adminOfAll = (config: Config, log: Logger, { health, metrics }: Workers): AdminOptions => ({
  config,
  health,
  observe(event) {
    if (event.type === 'request-failed') log.error({ err: event.error }, 'request failed');
  },
  metrics: async () => ({ type: Registry.PROMETHEUS_CONTENT_TYPE, text: await metrics() }),
});

/** The worker's answer; undefined when it is gone or does not answer in time. Those who ask at once share an answer. */
async function ask<Q extends Question>(worker: Worker, question: Q): Promise<Answers[Q] | undefined> {
  const answered = once(worker, question, { signal: AbortSignal.timeout(ANSWER_MS) });
  // Without a callback, a worker that has just died would end this process with an 'error' event.
  worker.send(question, (error) => error && worker.emit(question));
  return answered.then(
    ([answer]) => answer,
    () => undefined,
  );
}

/** The worker's side: serves, and answers the supervisor's questions. */
export async function serveAsWorker(
  config: Config,
  log: Logger,
  options: StartOptions = {},
): Promise<RunningServer> {
  const worker = cluster.worker as Worker;
  const { registry, health, ...running } = await serve(
    { ...config, adminPort: undefined },
    log.child({ worker: worker.id }),
    { ...options, reusePort: REUSE_PORT },
  );
  async function readMetrics(): Promise<Answers['metrics']> {
    try {
      return await (await registry()).getMetricsAsJSON();
    } catch (error) {
      log.error({ err: error }, 'metrics cannot be read');
      return null;
    }
  }

  // Without the supervisor, nobody reads messages; Node then ends the worker.
  const tell = (message: FromWorker) => worker.send(message, () => {});
  const answers = { health, metrics: readMetrics };
  worker.on('message', async (question: Question) => {
    tell({ question, answer: await answers[question]() });
  });
  tell({ serving: running.url });
  return running;
}
