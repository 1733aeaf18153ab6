// Users whose profile and post name their import, for PostgreSQL tests with changing data.
import { setTimeout as delay } from 'node:timers/promises';
import { blog, post } from './records.ts';
import { ask, done, json, ndjson, type Server } from './rig.ts';

const USERS = 50;
export const names = Array.from({ length: USERS }, (_, id) => `user${id + 1}`);

export const world = (generation: number) =>
  ndjson(
    ...names.map((name, index) => blog(index + 1, name, { bio: `generation ${generation}` })),
    ...names.map((_, index) => post(index + 1, index + 1, { post_details: `generation ${generation}` })),
  );

export const addressOf = (name: string, items: boolean) => `/a/api/?user=${name}${items ? '&post=true' : ''}`;
export const generationIn = (body: string) => Number(/"generation (\d+)"/.exec(body)?.[1]);
export const load = (url: string, generation: number) =>
  done(['import', '-'], { env: { DATABASE_URL: url }, input: world(generation) });

/** Waits for a condition; returns how long it took. */
export async function until(
  what: string,
  condition: () => Promise<boolean> | boolean,
  patience = 45_000,
): Promise<number> {
  const started = performance.now();
  while (!(await condition())) {
    if (performance.now() - started > patience) throw new Error(`${what}: not within ${patience} ms`);
    await delay(20);
  }
  return performance.now() - started;
}

/** What /readyz says on the admin port of a server (ADMIN_PORT must be set). */
export async function readiness({ log }: Server): Promise<{ reason?: string; warning?: string }> {
  const { adminUrl } = JSON.parse(log.find((line) => line.includes('adminUrl')) as string);
  return json(await ask({ port: Number(new URL(adminUrl).port) }, '/readyz'));
}

export const unready = async (server: Server) => (await readiness(server)).reason;
