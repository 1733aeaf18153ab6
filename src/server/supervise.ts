// WORKERS > 1: several processes share one port. The supervisor starts, replaces and stops them and adds up their metrics.
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { AggregatorRegistry, Registry } from '@prometheus-io/client';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { buildAdmin } from './admin.ts';
import { type Running, serve } from './serve.ts';
import { WorkerFailed } from './worker-failed.ts';

/** A worker that dies this early is replaced after a pause, so that a lasting cause does not loop. */
const YOUNG_MS = 5000;
const PAUSE_MS = 1000;
const ANSWER_MS = 2000;

type FromWorker = { readonly serving: string } | { readonly unready: string | null };

export async function supervise(config: Config, log: Logger): Promise<Running> {
  const workers = createWorkers(log);
  // The first one alone, so that faults in settings or data are reported once.
  const url = await workers.start();
  await Promise.all(Array.from({ length: config.workers - 1 }, workers.start));
  const admin = config.adminPort === undefined ? undefined : buildWorkersAdmin(config, log, workers.unready);
  const adminUrl = await admin?.listen({ host: config.adminHost, port: config.adminPort ?? 0 });
  return {
    url,
    adminUrl,
    async stop() {
      await workers.stop();
      await admin?.close();
    },
  };
}

/** Starts workers, and replaces those that die. */
function createWorkers(log: Logger) {
  const listening = new Set<Worker>();
  let stopping = false;

  /** Starts one worker; resolves to its address when it serves. */
  async function start(): Promise<string> {
    const worker = cluster.fork();
    const started = performance.now();
    const serving = Promise.withResolvers<string>();
    worker.on('message', (message: FromWorker) => {
      if (!('serving' in message)) return;
      listening.add(worker);
      serving.resolve(message.serving);
    });
    worker.once('exit', (code, signal) => {
      serving.reject(new WorkerFailed(code ?? 1));
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
      const reasons = await Promise.all([...listening].map(askUnready));
      return reasons.includes(undefined) ? undefined : (reasons[0] ?? 'No worker is running.');
    },

    async stop(): Promise<void> {
      stopping = true;
      const workers = Object.values(cluster.workers ?? {}) as Worker[];
      await Promise.all(
        workers.map(async (worker) => {
          worker.process.kill('SIGTERM');
          await once(worker, 'exit');
        }),
      );
    },
  };
}

/** The admin port of all workers, with their metrics added up. */
function buildWorkersAdmin(config: Config, log: Logger, unready: () => Promise<string | undefined>) {
  const metrics = new AggregatorRegistry(Registry.PROMETHEUS_CONTENT_TYPE);
  return buildAdmin({
    config,
    unready,
    logFault(_request, error) {
      log.error({ err: error }, 'request failed');
      return '';
    },
    observe() {},
    metrics: async () => ({ type: metrics.contentType, text: await metrics.clusterMetrics() }),
  });
}

async function askUnready(worker: Worker): Promise<string | undefined> {
  const timeout = AbortSignal.timeout(ANSWER_MS);
  try {
    worker.send({ ask: 'unready' });
    for (;;) {
      const [message] = (await once(worker, 'message', { signal: timeout })) as [FromWorker];
      if ('unready' in message) return message.unready ?? undefined;
    }
  } catch {
    return 'A worker does not answer.';
  }
}

/** The worker's side: serves, and answers the supervisor's questions. */
export async function serveAsWorker(config: Config, log: Logger): Promise<Running> {
  const worker = cluster.worker as Worker;
  const { registry, unready, ...running } = await serve(
    { ...config, adminPort: undefined },
    log.child({ worker: worker.id }),
  );
  AggregatorRegistry.setRegistries(await registry());
  new AggregatorRegistry();
  worker.on('message', async ({ ask }: { ask?: string }) => {
    if (ask === 'unready') worker.send({ unready: (await unready()) ?? null } satisfies FromWorker);
  });
  worker.send({ serving: running.url } satisfies FromWorker);
  return {
    ...running,
    async stop() {
      await running.stop();
      worker.disconnect();
    },
  };
}
