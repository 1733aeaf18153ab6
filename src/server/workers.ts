// WORKERS > 1: several processes share one port. The supervisor starts, replaces and stops them and adds up their metrics.
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { platform } from 'node:os';
import { Counter, Gauge, Registry } from '@prometheus-io/client';
import type { Logger } from 'pino';
import type { Observer } from '../api/http/observations.ts';
import type { Config } from '../config/settings.ts';
import { openAdmin } from './admin.ts';
import { AlreadyReported } from './already-reported.ts';
import type { SocketOptions } from './listen.ts';
import type { Health } from './probes.ts';

export interface RunningServer {
  /** The URLs that it listens on. */
  readonly url: string;
  readonly adminUrl: string | undefined;
  stop(): Promise<void>;
}

/** A server in this process. */
export interface LocalServer extends RunningServer {
  readonly registry: () => Promise<Registry>;
  readonly health: () => Promise<Health>;
}

export interface StartOptions {
  readonly socket?: SocketOptions | undefined;
  readonly signal?: AbortSignal;
  readonly droppedLines?: () => number;
  /** Whether it says what is odd about the data: of several servers of one address, one does. */
  readonly warns?: boolean;
  /** False if another process has the admin port, and asks this one. */
  readonly opensAdmin?: boolean;
}

export type StartServer = (config: Config, log: Logger, options: StartOptions) => Promise<LocalServer>;

/** What the supervisor adds to the metrics of its workers, and puts before them: of the start times, the first one counts. */
const own = new Registry();
const deaths = new Counter({
  name: 'vitrine_worker_deaths_total',
  help: 'Workers that ended and were replaced.',
  registers: [own],
});
new Gauge({
  name: 'process_start_time_seconds',
  help: 'When the supervisor started.',
  aggregator: 'first',
  registers: [own],
}).set(Math.round(performance.timeOrigin / 1000));

/** The workers that serve, each with its place. */
const serving = new Map<Worker, Place>();
let isStopping = false;

export async function supervise(
  config: Config,
  log: Logger,
  { signal, socket }: StartOptions,
): Promise<RunningServer> {
  signal?.throwIfAborted();
  signal?.addEventListener('abort', () => void stopWorkers(), { once: true });
  const observe: Observer = (event) => void ('error' in event && log.error({ err: event.error }));
  const admin = await openAdmin({ config, health: findHealth, metrics: addUpMetrics, observe });
  const stop = () => stopWorkers().then(() => admin?.close());
  try {
    // Workers accept from the one socket that they share, if each cannot open its own.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    if (socket?.fd === undefined && !config.host.startsWith('/')) await choosePort(config);
    // The first one alone, so that faults in settings or data are reported once.
    const url = await start(log);
    await Promise.all(Array.from({ length: config.workers - 1 }, () => start(log)));
    return { url, adminUrl: admin?.url, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Each worker accepts its own connections (SO_REUSEPORT). If the supervisor handed them over, those on their way to a
 * worker that dies would stay open for ever; from one shared socket (SCHED_NONE) two of four workers answered nearly all.
 * The kernel would let the workers of another Vitrine share the port as well, so it must be free before they start.
 */
async function choosePort({ host, port }: Config): Promise<void> {
  const probe = createServer((socket) => socket.destroy()).listen({ host, port });
  await once(probe, 'listening');
  // Only a Unix socket has another address.
  const chosen = (probe.address() as AddressInfo).port;
  await once(probe.close(), 'close');
  cluster.setupPrimary();
  cluster.setupPrimary({ args: [...(cluster.settings.args ?? []), '--port', String(chosen)] });
}

/** Starts one worker; resolves to its address when it serves. */
async function start(log: Logger, place = addPlace()): Promise<string> {
  if (isStopping) throw new Error('the server is stopping');
  // Each question that waits for its answer listens.
  const worker = cluster.fork().setMaxListeners(0);
  const started = Promise.withResolvers<string>();
  worker.on('message', ([name, message]) => void worker.emit(name, message));
  worker.once('serving', (url) => {
    serving.set(worker, place);
    started.resolve(url);
  });
  worker.once('exit', (code, signal) => {
    if (!isStopping) deaths.inc();
    // One that ended by itself has said why.
    started.reject(code === null ? new Error(`${signal} ended a worker`) : new AlreadyReported(code || 1));
    if (!serving.delete(worker) || isStopping) return;
    keepCounters(place);
    log.error({ worker: worker.id, code, signal }, 'a worker died and is being replaced');
    replace(log, place);
  });
  return started.promise;
}

/** In a second: a lasting cause of death must not loop. */
const replace = (log: Logger, place: Place) =>
  setTimeout(() => isStopping || start(log, place).catch(() => replace(log, place)), 1000);

function addPlace(): Place {
  const place = { before: Promise.resolve([]), last: [] };
  places.push(place);
  return place;
}

async function stopWorkers(): Promise<void> {
  isStopping = true;
  const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
  const alive = workers.filter((worker) => worker.process.kill('SIGTERM'));
  await Promise.all(alive.map((worker) => once(worker, 'exit')));
}

/** Requests may come while any worker is ready; a probe does not wait for the others. */
function findHealth(): Promise<Health> {
  const requireReady = (health: Health) => (health.unready === undefined ? health : Promise.reject(health));
  const isHealth = (error: object) => 'unready' in error;
  const ready = askWorkers<Health>('health').map((answer) => answer.then(requireReady));
  return Promise.any(ready).catch(({ errors }) => errors.find(isHealth) ?? { unready: 'No worker answers.' });
}

type Metrics = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** What the workers of one place have counted: a worker that dies is replaced in its place. */
interface Place {
  /** Those that died. */
  before: Promise<Metrics>;
  /** What the present one reported last. */
  last: Metrics;
}

/**
 * No counter falls, since a fall counts as a restart. So places are added up in one order: in another one, sums of fractions
 * may differ in their last digit.
 */
const places: Place[] = [];

const isGauge = ({ type }: Metrics[number]) => String(type) === 'gauge';
const countersOf = (metrics: Metrics) => metrics.filter((metric) => !isGauge(metric));

const addCounters = async (before: Promise<Metrics>, last: Metrics): Promise<Metrics> =>
  Registry.aggregate([await before, countersOf(last)]).getMetricsAsJSON();

async function addUpMetrics() {
  await Promise.allSettled(askWorkers<Metrics>('metrics', (place, metrics) => (place.last = metrics)));
  const gauges = places.map(({ last }) => last.filter(isGauge));
  const counters = await Promise.all(places.map(({ before, last }) => addCounters(before, last)));
  const text = await Registry.aggregate([await own.getMetricsAsJSON(), ...counters, ...gauges]).metrics();
  return { type: Registry.PROMETHEUS_CONTENT_TYPE, text };
}

function keepCounters(place: Place): void {
  place.before = addCounters(place.before, place.last);
  place.last = [];
}

/** That of a worker fails if it has just died or takes more than two seconds. */
function askWorkers<Answer>(
  question: 'health' | 'metrics',
  onAnswer?: (place: Place, answer: Answer) => void,
): Promise<Answer>[] {
  return [...serving].map(async ([worker, place]) => {
    // Without a callback, a worker that has just died would end this process with an 'error' event.
    worker.send(question, () => {});
    const [answer] = await once(worker, question, { signal: AbortSignal.timeout(2000) });
    if (serving.has(worker)) onAnswer?.(place, answer);
    // The other side is `serveAsWorker`.
    return answer as Answer;
  });
}

/** The worker's side: serves, and answers the supervisor's questions. Only Linux spreads connections over such sockets. */
export async function serveAsWorker(
  startServer: StartServer,
  config: Config,
  log: Logger,
  options: StartOptions,
): Promise<RunningServer> {
  // Every process but the supervisor has one.
  const worker = cluster.worker as Worker;
  const socket = options.socket ?? { reusePort: platform() === 'linux' };
  const start = { ...options, socket, warns: worker.id === 1, opensAdmin: false };
  const { registry, health, ...running } = await startServer(config, log.child({ worker: worker.id }), start);
  // Without the supervisor nothing reads messages; Node then ends the worker.
  const send = (name: string, message: unknown) => worker.send([name, message], () => {});
  const answers = { health, metrics: async () => (await registry()).getMetricsAsJSON() };
  const answer = async (name: keyof typeof answers) => send(name, await answers[name]());
  worker.on('message', (name) =>
    answer(name).catch((err) => log.error({ err }, 'the supervisor gets no answer')),
  );
  send('serving', running.url);
  return running;
}
