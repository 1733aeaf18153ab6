// The data and servers that several groups share; each is made when the first row needs it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expectedBodies, ordinaryDatabase, type Size, staticFiles, vitrineDatabase } from './dataset.ts';
import { type Process, start } from './processes.ts';
import { type Group, responseOf } from './rows.ts';
import { startNginx } from './static-nginx.ts';
import { startVitrine } from './vitrine.ts';

/** Requested again and again, so that their responses are in memory. */
const READY_USERS = 1000;
const STATIC_USERS = 3000;

export type Stage = ReturnType<typeof createStage>;

export function createStage(folder: string, size: Size) {
  const { users } = size;
  const bodies = once(() => expectedBodies(users, Math.min(users, STATIC_USERS)));
  const database = once(() => vitrineDatabase(folder, size));
  const ordinary = once(() => ordinaryDatabase(folder, size));
  return {
    folder,
    size,
    readyUsers: Math.min(users, READY_USERS),
    bodies,
    database,
    /** Vitrine, for requests whose responses are in memory. */
    ready: once(async () => startVitrine(await database())),
    /** Vitrine, for requests by random users. */
    random: once(async () => startVitrine(await database())),
    byHand: once(async () => peer('fastify-sqlite', { DATABASE: await ordinary() })),
    express: once(async () => peer('express-sqlite', { DATABASE: await ordinary() })),
    nginx: once(async () => startNginx(folder, await staticFiles(folder, bodies()))),
  };
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

export const peer = (name: string, env: Record<string, string>) =>
  start(() => [process.execPath, join(import.meta.dirname, 'peers', `${name}.ts`)], { env });

/** Node adds these itself. */
const OF_THE_CONNECTION = ['connection', 'keep-alive', 'date', 'transfer-encoding'];

/** Saves one of Vitrine's responses with its headers, for servers that send nothing else. */
export async function capture(folder: string, group: Group, server: Process, address: string, etag?: string) {
  const { status, headers, body } = await responseOf(server, address, etag);
  const path = join(folder, `constant-${group}.json`);
  const own = Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.includes(name));
  writeFileSync(path, JSON.stringify({ status, headers: own.flat(), body }));
  return { path, body };
}
