// A server in the process of the tests.
import { once } from 'node:events';
import { Writable } from 'node:stream';
import type { Process } from '../../src/cli/context.ts';
import { runProgram } from '../../src/cli/program.ts';
import { readConfig } from '../../src/config/config.ts';
import { sampleDatabase } from '../../src/import/samples/samples.ts';
import { buildApp } from '../../src/server/app.ts';
import { announce, serve } from '../../src/server/serve.ts';
import { createLog, createServerLog } from '../../src/server/telemetry/log.ts';
import { createTelemetry } from '../../src/server/telemetry/telemetry.ts';
import { openReader } from '../../src/stores/open.ts';
import type { Reader } from '../../src/stores/reader.ts';
import {
  atEnd,
  type Environment,
  type LocalServer,
  processWith,
  SERVER_SETTINGS,
  startServer,
} from './rig.ts';

/**
 * Serves in this process, which is much faster than starting one; a test of the process itself uses `startServer`. With
 * VITRINE_PROGRAM the tests hold for a program that was built.
 */
export async function serveHere(env: Environment = {}, args: readonly string[] = []): Promise<LocalServer> {
  if (process.env.VITRINE_PROGRAM !== undefined) return await startServer(env, args);
  const log: string[] = [];
  const stderr: string[] = [];
  const out = new Writable({
    write(chunk, _, done) {
      log.push(...String(chunk).split('\n').filter(Boolean));
      done();
    },
  });
  const stopSignal = new AbortController();
  const ended = Promise.withResolvers<number>();
  const url = await new Promise<string>((resolve, reject) => {
    const io: Process = {
      ...processWith({ ...SERVER_SETTINGS, ...env }, [], stderr),
      async serve(config, { warnings, onServing }) {
        if (config.workers > 1) throw new Error('several workers need startServer');
        const { log, output } = createServerLog(config, out);
        for (const warning of warnings) log.warn(warning);
        const running = await serve(config, log, { droppedLines: output.dropped });
        announce(config, log, running);
        onServing?.(log);
        resolve(running.url);
        await once(stopSignal.signal, 'abort');
        await running.stop();
      },
    };
    runProgram(io, ['serve', '--samples', ...args]).then((code) => {
      ended.resolve(code);
      reject(new Error(`the server ended with ${code}:\n${[...log, ...stderr].join('\n')}`));
    });
  });
  const stop = () => {
    stopSignal.abort();
    return ended.promise;
  };
  atEnd(stop);
  return { url, port: Number(new URL(url).port), log, ended: ended.promise, stop };
}

/** Serves the sample users, with lookups of the test, in this process. */
export async function serveLookups(lookups: Partial<Reader>, settings: Parameters<typeof readConfig>[0]) {
  const config = readConfig({ port: '0', logLevel: 'silent', ...settings });
  const samples = await openReader(await sampleDatabase('http://localhost/samples/'));
  const telemetry = createTelemetry(config, createLog(config, process.stdout));
  const { app } = buildApp({ config, store: { ...samples, ...lookups }, telemetry });
  atEnd(() => app.close());
  return { port: Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port) };
}
