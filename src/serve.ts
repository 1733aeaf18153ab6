// A server's life: open the data, listen, and stop without dropping anybody.
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { buildApp } from './app.ts';
import type { Config } from './config.ts';
import { openReader, prepareFile } from './stores/sqlite.ts';
import type { Reader } from './stores/store.ts';
import { sampleDatabase } from './transfer/samples.ts';

export interface Running {
  /** Where it listens, as a URL. */
  readonly url: string;
  stop(): Promise<void>;
}

export async function serve(config: Config, log: Logger): Promise<Running> {
  const store = await openStore(config);
  const { app, health } = buildApp({ config, store, log });
  const url = await app.listen({ host: config.host, port: config.port });
  log.info({ url, data: config.databaseUrl ?? 'the sample users' }, 'serving');
  if (config.databaseUrl === undefined) log.info(`no DATABASE_URL: these are sample users. Try:\n${tryLines(config, url)}`);

  return {
    url,
    async stop() {
      health.drain();
      log.info('stopping');
      await delay(config.shutdownDelay);
      // A connection that never asked for anything would keep the server waiting for ever.
      const grace = setTimeout(() => app.server.closeAllConnections(), config.shutdownGrace);
      await app.close();
      clearTimeout(grace);
      await store.close();
      log.info('stopped');
    },
  };
}

async function openStore({ databaseUrl }: Config): Promise<Reader> {
  if (databaseUrl === undefined) return openReader(await sampleDatabase());
  prepareFile(databaseUrl);
  return openReader(databaseUrl);
}

function tryLines(config: Config, url: string): string {
  const at = (base: Config['baseUrlA'], path: string) => (base === undefined ? [] : `  curl '${url}${base.path}${path}'`);
  return [
    at(config.baseUrlA, '/api/?user=ada'),
    at(config.baseUrlB, '/api/username/ada'),
    at(config.baseUrlC, '/api/username/ada/shots'),
  ]
    .flat()
    .join('\n');
}
