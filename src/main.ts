// Runs the command that argv names. Only this file touches the process, its signals and its exit code.
import cluster from 'node:cluster';
import process from 'node:process';
import { getSystemErrorMessage } from 'node:util';
import v8 from 'node:v8';
import type { Figures, Process } from './cli/context.ts';
import { DONE, FAILED, MISUSED } from './cli/exit-codes.ts';
import { runProgram } from './cli/program.ts';
import { printable } from './records/printable.ts';
import type { ServerHandlers } from './server/serve.ts';

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
  figures: readFigures,
  ids: [process.pid, ...(cluster.isWorker ? [process.ppid] : [])],
  becomeServer,
  stopSignal: (signals = STOP_SIGNALS) => stopSignal(...signals),
  endBySignal,
  whileEndedBySignal: async (action) => {
    const listeners = STOP_SIGNALS.map((signal) => [signal, process.listeners(signal)] as const);
    endBySignal();
    try {
      return await action();
    } finally {
      for (const [signal, all] of listeners) for (const one of all) process.on(signal, one);
    }
  },
  handleOutputErrors: () => process.stdout.off('error', endOnOutputError).on('error', () => {}),
  stoppedBy: () => stoppedBy,
};

let isServer = false;
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
if (cluster.isWorker ? isServer || process.exitCode !== DONE : isServer && process.exitCode === DONE)
  process.exit();
// Timers that a map has left behind would keep any other command alive.
process.stderr.write('', () => process.stdout.write('', () => process.exit()));

/** A server handles the errors of its output itself, and goes on when what rotates logs sends SIGHUP. */
function becomeServer({ onIgnoredSignal, onUncaught }: ServerHandlers): void {
  isServer = true;
  process.stdout.off('error', endOnOutputError);
  process.off('uncaughtException', endOnUncaught);
  if (onUncaught !== undefined)
    process.on('uncaughtException', (error) => onUncaught(describeUncaught(error)));
  // SIGUSR1 does nothing: see vitrine.js.
  for (const signal of ['SIGHUP', 'SIGUSR1'] as const) process.on(signal, () => onIgnoredSignal(signal));
}

function readFigures(): Figures {
  // The system counts blocks of 512 bytes.
  const { userCPUTime, systemCPUTime, fsWrite } = process.resourceUsage();
  return {
    seconds: Number(process.uptime().toFixed(3)),
    cpuSeconds: (userCPUTime + systemCPUTime) / 1e6,
    bytesWritten: fsWrite * 512,
  };
}

function endBySignal(): void {
  for (const signal of STOP_SIGNALS) process.removeAllListeners(signal);
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

function exitAtOnce(): never {
  // One that is still starting would report that the supervisor is gone, with a stack.
  for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGKILL');
  process.exit(FAILED);
}

/** Nothing is left that could settle the command. */
function endUnfinished(): never {
  process.stderr.write('vitrine: nothing was done: a promise is never settled, such as one of a map\n');
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
