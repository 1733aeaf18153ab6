// Runs the command that argv names. Only this file touches the process, its signals and its exit code.
import cluster from 'node:cluster';
import process from 'node:process';
import { aborted, getSystemErrorMessage } from 'node:util';
import v8 from 'node:v8';
import type { Logger } from 'pino';
import type { Process, ServeStart } from './cli/context.ts';
import { runProgram } from './cli/program.ts';
import type { Config } from './config/settings.ts';
import { printable } from './records/printable.ts';
import { DONE, FAILED, MISUSED } from './stores/explain.ts';

// Requests and records are short-lived garbage: without this flag the space for it grows to hundreds of megabytes.
v8.setFlagsFromString('--semi-space-growth-factor=1');
// So small a space is collected by one thread: with more, an import takes a tenth more CPU, and more memory.
v8.setFlagsFromString('--no-parallel-scavenge');

const STOP_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP'];

/** The first signal that stopped the command. */
let stoppedBy: NodeJS.Signals | undefined;

const io: Process = {
  environment: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  serve: serveUntilStopped,
  stopSignal: (signals = STOP_SIGNALS) => stopSignal(...signals),
  endBySignal: () => {
    for (const signal of STOP_SIGNALS) process.removeAllListeners(signal);
  },
  stoppedBy: () => stoppedBy,
};

let hasServed = false;
process.stdout.on('error', endOnOutputError);
// Progress and messages that cannot be written are no reason to stop.
process.stderr.on('error', () => {});
process.on('uncaughtException', endOnUncaught);

// Whatever ends the process early, such as a map that calls process.exit(), is no success.
process.exitCode = FAILED;
process.once('beforeExit', endUnfinished);
process.exitCode = await runProgram(io, process.argv.slice(2));
process.off('beforeExit', endUnfinished);
if (stoppedBy !== undefined && process.exitCode > MISUSED) endBy(stoppedBy);
// Log lines that are not read, and a worker's channel to the supervisor, would keep a server alive.
if (hasServed || (cluster.isWorker && process.exitCode !== DONE)) process.exit();
// Timers that a map has left behind would keep any other command alive.
process.stderr.write('', () => process.stdout.write('', () => process.exit()));

async function serveUntilStopped(config: Config, start: ServeStart): Promise<void> {
  const { warnings, json, onServing, onUncaught } = start;
  const signal = stopSignal('SIGTERM', 'SIGINT');
  process.stdout.off('error', endOnOutputError);
  process.off('uncaughtException', endOnUncaught);
  const { createServerLog, prettyFormat } = await import('./server/telemetry/log.ts');
  const format = process.stdout.isTTY && !json ? await prettyFormat() : undefined;
  const { log, output } = createServerLog(config, process.stdout, format);
  if (cluster.isPrimary) {
    if (config.databaseUrl === undefined) log.info('DATABASE_URL is not set: serving sample users');
    for (const warning of warnings) log.warn(warning);
  }
  if (onUncaught !== undefined)
    process.on('uncaughtException', (error) => onUncaught(describeUncaught(error), log));
  ignoreSignals(log);
  await runServer(config, log, signal, output.dropped, onServing);
  await output.flush();
  hasServed = true;
}

async function runServer(
  config: Config,
  log: Logger,
  signal: AbortSignal,
  droppedLines: () => number,
  onServing: ServeStart['onServing'],
): Promise<void> {
  // Only `serve` loads the server's code, and only WORKERS > 1 the supervisor's.
  const { announce, serve } = await import('./server/serve.ts');
  const { inheritedSocket } = await import('./server/listen.ts');
  const start = cluster.isWorker || config.workers > 1 ? await workerStart() : serve;
  const socket = inheritedSocket(process.env, [process.pid, ...(cluster.isWorker ? [process.ppid] : [])]);
  const running = await start(config, log, { signal, droppedLines, socket }).catch((error) => {
    if (!signal.aborted) throw error;
  });
  // The signal came before the server had started.
  if (running === undefined) return;
  if (cluster.isPrimary) announce(config, log, running);
  onServing?.(log);
  await aborted(signal, process);
  if (cluster.isPrimary) log.info('stopping');
  await running.stop();
  if (cluster.isPrimary) log.info('stopped');
}

async function workerStart(): Promise<typeof supervise> {
  const { serveAsWorker, supervise } = await import('./server/workers.ts');
  return cluster.isWorker ? serveAsWorker : supervise;
}

/** Aborted by the first of these signals; the second one ends the process at once. */
function stopSignal(...signals: NodeJS.Signals[]): AbortSignal {
  const stop = new AbortController();
  for (const signal of signals)
    process.on(signal, () => {
      stoppedBy ??= signal;
      // Ctrl-C and systemd signal every process, and the supervisor its workers again. A worker obeys once; it ends with
      // the supervisor in any case.
      if (stop.signal.aborted && cluster.isPrimary) exitAtOnce();
      stop.abort();
    });
  return stop.signal;
}

/** The program that started this process sees that the signal has ended it: a shell leaves its loop, and systemd sees no failure. */
function endBy(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/** What rotates logs sends SIGHUP, which would end the process without a word. SIGUSR1 does nothing: see vitrine.js. */
function ignoreSignals(log: Logger): void {
  for (const signal of ['SIGHUP', 'SIGUSR1'] as const)
    process.on(signal, () => {
      if (cluster.isPrimary) log.info(`${signal} is ignored: stop the server with SIGTERM`);
    });
}

function exitAtOnce(): never {
  // One that is still starting would report that the supervisor is gone, with a stack.
  for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGKILL');
  process.exit(FAILED);
}

/** Nothing is left that could settle the command. */
function endUnfinished(): never {
  process.stderr.write('vitrine: nothing was done: a promise, such as one of a map, is never settled\n');
  process.exit(FAILED);
}

/** Such as one that a map left behind in a timer or a promise. A server's is printed by Node, with its stack. */
function endOnUncaught(error: unknown): never {
  process.stderr.write(`vitrine: ${describeUncaught(error)}\n`);
  process.exit(FAILED);
}

function describeUncaught(error: unknown): string {
  const text = error instanceof Error && error.stack ? error.stack : String(error);
  return `an error that nothing caught: ${printable(text.split('\n', 2).join(''))}`;
}

/** `vitrine export | head` is not a failure. */
function endOnOutputError(error: NodeJS.ErrnoException): never {
  if (error.code === 'EPIPE') process.exit(DONE);
  const reason = error.errno === undefined ? error.message : getSystemErrorMessage(error.errno);
  process.stderr.write(`vitrine: cannot write to standard output: ${reason}\n`);
  process.exit(FAILED);
}
