// A server in the process of the tests.
import { Writable } from 'node:stream';
import type { Process } from '../../src/cli/context.ts';
import { runProgram } from '../../src/cli/program.ts';
import { readConfig } from '../../src/config/config.ts';
import { sampleDatabase } from '../../src/import/samples/samples.ts';
import { buildApp } from '../../src/server/app.ts';
import { createLog } from '../../src/server/telemetry/log.ts';
import { createTelemetry } from '../../src/server/telemetry/telemetry.ts';
import { openReader } from '../../src/stores/open.ts';
import type { Reader } from '../../src/stores/reader.ts';
import { atEnd } from './at-end.ts';
import { dropConnections } from './http.ts';
import { type Environment, processWith } from './run.ts';
import { type LocalServer, SERVER_SETTINGS, startServer } from './server.ts';

/**
 * Serves in this process, which is much faster than starting one; a test of the process itself uses `startServer`. With
 * VITRINE_PROGRAM the tests hold for a program that was built.
 */
export async function serveHere(env: Environment = {}, args: readonly string[] = []): Promise<LocalServer> {
  if (process.env.VITRINE_PROGRAM !== undefined) return await startServer(env, args);
  // One process serves files.
  if (Number(env.WORKERS ?? 1) > 1 && args.length === 0) throw new Error('several workers need startServer');
  const log: string[] = [];
  const stderr: string[] = [];
  const serving = Promise.withResolvers<string>();
  const stdout = new Writable({
    write(chunk, _, done) {
      for (const line of String(chunk).split('\n').filter(Boolean)) {
        log.push(line);
        const { msg, url } = JSON.parse(line);
        if (msg === 'serving') serving.resolve(url);
      }
      done();
    },
  });
  const stopSignal = new AbortController();
  const io: Process = {
    ...processWith({ ...SERVER_SETTINGS, ...env }, [], stderr),
    stdout,
    stopSignal: () => stopSignal.signal,
  };
  const ended = runProgram(io, ['serve', '--samples', ...args]);
  void ended.then((code) =>
    serving.reject(new Error(`the server ended with ${code}:\n${[...log, ...stderr].join('\n')}`)),
  );
  const url = await serving.promise;
  const stop = () => {
    dropConnections();
    stopSignal.abort();
    return ended;
  };
  atEnd(stop);
  return { url, port: Number(new URL(url).port), log, ended, stop };
}

/** The app over the sample users, with lookups of the test. It is not ready yet: a promise of it alone would make it so. */
export async function buildSampleApp(
  lookups: Partial<Reader>,
  settings: Parameters<typeof readConfig>[0] = {},
) {
  const config = readConfig({ port: '0', logLevel: 'silent', ...settings });
  const samples = await openReader(await sampleDatabase('http://localhost/samples/'));
  const telemetry = createTelemetry(config, createLog(config, process.stdout));
  const { app } = buildApp({ config, store: { ...samples, ...lookups }, telemetry });
  atEnd(() => app.close());
  return { app };
}

/** Serves the sample users, with lookups of the test, in this process. */
export async function serveLookups(...options: Parameters<typeof buildSampleApp>) {
  const { app } = await buildSampleApp(...options);
  return { port: Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port) };
}
