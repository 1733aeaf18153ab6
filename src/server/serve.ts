// Opens the data, listens, and stops without dropping requests.

import cluster from 'node:cluster';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Registry } from '@prometheus-io/client';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { findSamplesUrl, publicOrigin } from '../config/addresses.ts';
import { describeData, servesSamples } from '../config/database-url.ts';
import { findMediaUrl } from '../config/media.ts';
import { type Config, listMounts, type Rehearsal } from '../config/settings.ts';
import type { ServeHooks } from '../import/serve-files.ts';
import { printable, shellWord } from '../records/printable.ts';
import { unlessAborted } from '../records/unless-aborted.ts';
import { openReader, openServed } from '../stores/open.ts';
import type { Reader, StoreListener } from '../stores/reader.ts';
import { lookupAddresses, VARIANTS } from '../variants.ts';
import { type Admin, openAdmin } from './admin.ts';
import { buildApp } from './app.ts';
import { closeAllConnections, closeRestingConnections } from './edge/http-server.ts';
import { takeOverIdleClose } from './edge/undocumented.ts';
import { acceptWaiting, inheritedSocket, listen } from './listen.ts';
import { createServerLog, prettyFormat } from './telemetry/log.ts';
import { createTelemetry } from './telemetry/telemetry.ts';
import type { LocalServer, RunningServer, StartOptions } from './workers.ts';

/** What a server needs of the process that it runs in. */
export interface ServerProcess {
  readonly environment: Record<string, string | undefined>;
  readonly stdout: Writable & { readonly isTTY?: boolean };
  /** Those that a listening socket may have been handed to: systemd names one of them. */
  readonly ids: readonly number[];
  /**
   * Prepares the process for a server. An error of its output no longer ends it, since the log handles that. It ignores SIGHUP
   * and SIGUSR1. It exits when the server has stopped, although timers may be left.
   */
  readonly becomeServer: (handlers: ServerHandlers) => void;
}

export interface ServerHandlers {
  readonly onIgnoredSignal: (signal: string) => void;
  /** Called with a sentence about an error that nothing caught; without it, such an error ends the process. */
  readonly onUncaught?: ((sentence: string) => void) | undefined;
}

interface ServeStart extends ServeHooks {
  /** What is odd about the settings, a sentence each. */
  readonly warnings: readonly string[];
  /** Whether the log is JSON on a terminal as well. */
  readonly json: boolean;
  readonly signal: AbortSignal;
}

/** Runs the server until the signal stops it. */
export async function serveUntilStopped(
  config: Config,
  { warnings, json, signal, onServing, onUncaught }: ServeStart,
  { environment, stdout, ids, becomeServer }: ServerProcess,
): Promise<void> {
  const format = stdout.isTTY && !json ? await prettyFormat() : undefined;
  const { log, output } = createServerLog(config, stdout, format);
  becomeServer({
    onUncaught: onUncaught && ((sentence) => onUncaught(sentence, log)),
    onIgnoredSignal(name) {
      if (cluster.isPrimary) log.info(`${name} is ignored: stop the server with SIGTERM`);
    },
  });
  if (cluster.isPrimary) {
    if (servesSamples(config)) log.info('DATABASE_URL is not set: serving sample users');
    for (const warning of warnings) log.warn(warning);
  }
  const socket = inheritedSocket(environment, ids);
  const running = await startUnlessStopped(config, log, { signal, droppedLines: output.dropped, socket });
  if (running !== undefined) {
    if (cluster.isPrimary) announce(config, log, running);
    onServing?.(log);
    if (!signal.aborted) await once(signal, 'abort');
    if (cluster.isPrimary) log.info('stopping');
    await running.stop();
    if (cluster.isPrimary) log.info('stopped');
  }
  await output.flush();
}

/** Undefined if the signal comes before the server has started. Only WORKERS > 1 loads the supervisor. */
async function startUnlessStopped(
  config: Config,
  log: Logger,
  options: StartOptions & { readonly signal: AbortSignal },
): Promise<RunningServer | undefined> {
  const { signal } = options;
  try {
    if (signal.aborted) return undefined;
    if (config.workers === 1 && cluster.isPrimary) return await startServer(config, log, options);
    const { serveAsWorker, supervise } = await import('./workers.ts');
    if (cluster.isPrimary) return await supervise(config, log, options);
    return await serveAsWorker(startServer, config, log, options);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/** Starts a server in this process. */
export async function startServer(
  config: Config,
  log: Logger,
  { signal, droppedLines = () => 0, socket, warns = true, opensAdmin = true }: StartOptions = {},
): Promise<LocalServer> {
  const telemetry = createTelemetry(config, log);
  // A database may take long to answer: a start that was ended does not wait for it.
  const store = await unlessAborted(openStore(config, telemetry.observe), signal);
  // No start waits for it, or fails with it.
  if (warns) compareMediaUrls(config, store, log).catch(() => {});
  const { app, drain, sources } = buildApp({
    config,
    store,
    telemetry,
    rehearse: config.rehearsal && (await loadRehearsal(config, config.rehearsal)),
  });
  let registering: Promise<Registry> | undefined;
  /** The Prometheus client is loaded, and begins to collect, with the first question. */
  const registry = () =>
    (registering ??= import('./telemetry/metric-table.ts').then(({ createRegistry }) =>
      createRegistry({ ...sources, droppedLines }),
    ));
  let admin: Admin | undefined;

  async function close(): Promise<void> {
    await closeInTime(app, config.shutdownGrace);
    await admin?.close();
    await store.close();
    telemetry.stop();
  }

  try {
    // Loading it takes long: not while requests wait.
    if (config.adminPort !== undefined) await registry();
    const adminPort = opensAdmin ? config.adminPort : undefined;
    admin = await openAdmin({
      config: { ...config, adminPort },
      health: sources.health,
      observe: telemetry.observe,
      async metrics() {
        const all = await registry();
        return { type: all.contentType, text: await all.metrics() };
      },
    });
    // The public port comes last: clients that find it open are served.
    const url = await listen(app, config, socket);
    return { url, adminUrl: admin?.url, registry, health: sources.health, stop };
  } catch (error) {
    await close();
    throw error;
  }

  async function stop(): Promise<void> {
    drain();
    await delay(config.shutdownDelay);
    await close();
  }
}

async function loadRehearsal({ rateLimit }: Config, rehearsal: Rehearsal) {
  const { rehearse } = await import('./rehearsal.ts');
  return (app: Parameters<typeof rehearse>[0]) => rehearse(app, { ...rehearsal, rateLimit });
}

/** A connection may have its next request on the way, which is its last one; one that stays silent this long is closed. */
const SILENT_GRACE_MS = 500;

/** Requests in flight may finish; whatever is open after the grace time is cut. */
async function closeInTime(app: Pick<FastifyInstance, 'server' | 'close'>, grace: number): Promise<void> {
  takeOverIdleClose(app.server);
  const cut = setTimeout(() => closeAllConnections(app.server), grace);
  await acceptWaiting(app.server, grace / 2);
  const closeResting = setInterval(
    // First what has arrived is read: on a busy machine that may be the requests of the whole time.
    () => setImmediate(closeRestingConnections, app.server),
    Math.min(SILENT_GRACE_MS, grace),
  );
  await app.close();
  for (const timer of [cut, closeResting]) clearTimeout(timer);
}

/** Warns if the data was built with another MEDIA_URL. */
async function compareMediaUrls(config: Config, store: Reader, log: Logger): Promise<void> {
  if (servesSamples(config)) return;
  const [linked, served] = [await store.mediaUrl(), findMediaUrl(config)];
  if (linked === undefined || linked === served) return;
  const old = printable(linked);
  // Under an address of this machine, nobody else would see them.
  const isPublic = config.mediaUrl !== undefined || publicOrigin(config) !== undefined;
  const relinking = isPublic ? `, or run vitrine media relink --media-url ${shellWord(served)}` : '';
  log.warn(
    `records name copies of pictures under ${old}, but MEDIA_URL is ${served}: set MEDIA_URL, to ${old} if they are served there${relinking}`,
  );
}

/** Logs the addresses, the data, and lines to try. */
function announce(config: Config, log: Logger, { url, adminUrl }: RunningServer): void {
  const data = printable(describeData(config));
  log.info({ url, adminUrl, data, workers: config.workers }, 'serving');
  if (servesSamples(config) && !url.startsWith('unix:'))
    log.info(`These are sample users. Try:\n${tryLines(config, url)}`);
}

async function openStore(config: Config, observe: StoreListener): Promise<Reader> {
  const { databaseUrl } = config;
  if (databaseUrl === undefined) {
    const { sampleDatabase } = await import('../import/samples/samples.ts');
    return openReader(await sampleDatabase(findSamplesUrl(config)));
  }
  return openServed(databaseUrl, observe);
}

/** Lookups of a sample user at the addresses that need no name of a host. */
const tryLines = (config: Config, url: string) =>
  listMounts(config)
    .filter(({ base }) => base.host === undefined)
    .map(({ variant, base }) => lookupAddresses(VARIANTS[variant].style, url + base.path, 'ada'))
    .flatMap(({ profile, items }) => [`  curl '${profile}'`, `  curl '${items}'`])
    .join('\n');
