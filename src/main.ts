// argv -> command. Nothing else touches the process, its signals or its exit code.
import cluster from 'node:cluster';
import { flushCompileCache } from 'node:module';
import process from 'node:process';
import v8 from 'node:v8';
import { createProgram, wasReported } from './cli/program.ts';
import { Failed, Misused } from './cli/surroundings.ts';
import { type Config, ConfigError } from './config/config.ts';
import { WorkerFailed } from './server/worker-failed.ts';
import { StoreError } from './stores/store.ts';
import { createLog, prettyStream } from './telemetry/log.ts';

const DONE = 0;
const FAILED = 1;
const MISUSED = 2;

const program = createProgram({
  environment: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  serve: serveUntilStopped,
  stopSignal,
});

// `vitrine export | head` is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? DONE : FAILED),
);

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = tell(error);
  // The channel to its supervisor would keep a worker alive.
  if (cluster.isWorker) process.exit();
}

async function serveUntilStopped(config: Config): Promise<void> {
  const out = (process.stdout.isTTY && (await prettyStream())) || process.stdout;
  const log = createLog(config, out);
  // What a request leaves behind is young and many: the room for it would grow by itself to hundreds of megabytes.
  v8.setFlagsFromString('--semi-space-growth-factor=1');
  // Only a server needs the server's code, and only one of several what keeps them together.
  const { announce, serve } = await import('./server/serve.ts');
  const start = cluster.isWorker || config.workers > 1 ? await oneOfSeveral() : serve;
  const running = await start(config, log);
  const stopped = askedToStop();
  if (cluster.isPrimary) announce(config, log, running);
  // The next start has the code compiled, however this process ends.
  flushCompileCache();
  await stopped;
  if (cluster.isPrimary) log.info('stopping');
  await running.stop();
  if (cluster.isPrimary) log.info('stopped');
}

async function oneOfSeveral(): Promise<typeof supervise> {
  const { serveAsWorker, supervise } = await import('./server/supervise.ts');
  return cluster.isWorker ? serveAsWorker : supervise;
}

function stopSignal(): AbortSignal {
  const stop = new AbortController();
  void askedToStop().then(() => stop.abort());
  return stop.signal;
}

/** Waits for the first signal to stop; the second is meant, and ends the process at once. */
function askedToStop(): Promise<void> {
  const signals = ['SIGTERM', 'SIGINT'] as const;
  return new Promise((resolve) => {
    const first = () => {
      for (const signal of signals) process.off(signal, first).on(signal, () => process.exit(FAILED));
      resolve();
    };
    for (const signal of signals) process.on(signal, first);
  });
}

/** Says what went wrong in a line or two, and gives the exit code for it. */
function tell(error: unknown): number {
  if (wasReported(error)) return error.exitCode === 0 ? DONE : MISUSED;
  if (error instanceof WorkerFailed) return error.exitCode;
  if (error instanceof ConfigError) return complain(error.mistakes, MISUSED);
  if (error instanceof Misused) return complain([error.message], MISUSED);
  if (error instanceof Failed || error instanceof StoreError) return complain([error.message], FAILED);
  return complain([plain(error as NodeJS.ErrnoException)], FAILED);
}

function complain(lines: readonly string[], code: number): number {
  for (const line of lines) process.stderr.write(`vitrine: ${line}\n`);
  return code;
}

function plain(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return `${error.path} is not there`;
  if (error.code === 'EISDIR') return `${error.path ?? 'that'} is a folder`;
  if (error.code === 'EADDRINUSE') return `the address is taken: ${error.message}`;
  return error.message;
}
