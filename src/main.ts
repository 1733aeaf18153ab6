// Runs the command that argv names. Only this file touches the process, its signals and its exit code.
import cluster from 'node:cluster';
import process from 'node:process';
import v8 from 'node:v8';
import { DONE, FAILED } from './cli/output.ts';
import { runProgram } from './cli/program.ts';
import { type Process, Reported, type ServeStart } from './cli/surroundings.ts';
import type { Config } from './config/config.ts';
import { WorkerFailed } from './server/worker-failed.ts';
import { createLog, prettyStream } from './telemetry/log.ts';

// Requests and records are short-lived garbage: without this flag the space for it grows to hundreds of megabytes.
v8.setFlagsFromString('--semi-space-growth-factor=1');

const around: Process = {
  environment: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  serve: serveUntilStopped,
  stopSignal,
};

// `vitrine export | head` is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(DONE);
  process.stderr.write(`vitrine: cannot write to standard output: ${error.message}\n`);
  process.exit(FAILED);
});

process.exitCode = await runProgram(around, process.argv.slice(2));
// The channel to the supervisor would keep a worker alive.
if (cluster.isWorker && process.exitCode !== DONE) process.exit();

async function serveUntilStopped(config: Config, { warnings, json }: ServeStart): Promise<void> {
  const out = (process.stdout.isTTY && !json && (await prettyStream())) || process.stdout;
  const log = createLog(config, out);
  if (cluster.isPrimary) {
    if (config.databaseUrl === undefined) log.info('DATABASE_URL is not set: serving sample users');
    for (const warning of warnings) log.warn(warning);
  }
  // Only `serve` loads the server's code, and only WORKERS > 1 the supervisor's.
  const { announce, serve } = await import('./server/serve.ts');
  const start = cluster.isWorker || config.workers > 1 ? await workerStart() : serve;
  const running = await start(config, log).catch((error) => {
    throw error instanceof WorkerFailed ? new Reported(error.exitCode) : error;
  });
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
