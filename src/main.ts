// Runs the command that argv names. Only this file touches the process, its signals and its exit code.
import cluster from 'node:cluster';
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

// Requests and records are short-lived garbage: without this flag the space for it grows to hundreds of megabytes.
v8.setFlagsFromString('--semi-space-growth-factor=1');

const program = createProgram({
  environment: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  serve: serveUntilStopped,
  stopSignal,
});

// `vitrine export | head` is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? DONE : FAILED),
);

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
  // The channel to the supervisor would keep a worker alive.
  if (cluster.isWorker) process.exit();
}

async function serveUntilStopped(config: Config): Promise<void> {
  const out = (process.stdout.isTTY && (await prettyStream())) || process.stdout;
  const log = createLog(config, out);
  // Only `serve` loads the server's code, and only WORKERS > 1 the supervisor's.
  const { announce, serve } = await import('./server/serve.ts');
  const start = cluster.isWorker || config.workers > 1 ? await workerStart() : serve;
  const running = await start(config, log);
  const stopped = askedToStop();
  if (cluster.isPrimary) announce(config, log, running);
  await stopped;
  if (cluster.isPrimary) log.info('stopping');
  await running.stop();
  if (cluster.isPrimary) log.info('stopped');
}

async function workerStart(): Promise<typeof supervise> {
  const { serveAsWorker, supervise } = await import('./server/supervise.ts');
  return cluster.isWorker ? serveAsWorker : supervise;
}

function stopSignal(): AbortSignal {
  const stop = new AbortController();
  void askedToStop().then(() => stop.abort());
  return stop.signal;
}

/** Resolves at the first signal to stop; the second one ends the process at once. */
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

/** Reports an error in a line or two; returns the exit code. */
function report(error: unknown): number {
  if (wasReported(error)) return error.exitCode === 0 ? DONE : MISUSED;
  if (error instanceof WorkerFailed) return error.exitCode;
  if (error instanceof ConfigError) return printErrors(error.mistakes, MISUSED);
  if (error instanceof Misused) return printErrors([error.message], MISUSED);
  if (error instanceof Failed || error instanceof StoreError) return printErrors([error.message], FAILED);
  return printErrors([describe(error as NodeJS.ErrnoException)], FAILED);
}

function printErrors(lines: readonly string[], code: number): number {
  for (const line of lines) process.stderr.write(`vitrine: ${line}\n`);
  return code;
}

function describe(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return `${error.path} does not exist`;
  if (error.code === 'EISDIR') return `${error.path ?? 'that'} is a folder`;
  if (error.code === 'EADDRINUSE') return `the address is in use: ${error.message}`;
  return error.message;
}
