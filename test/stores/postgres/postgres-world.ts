// Users whose profile and post name their import, for PostgreSQL tests with changing data.

import { ndjson } from '../../support/files.ts';
import { ask, json } from '../../support/http.ts';
import { blog, post } from '../../support/records.ts';
import { done } from '../../support/run.ts';
import type { Server } from '../../support/server.ts';
import { adminOf } from '../../support/stress.ts';

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

/** What /readyz says on the admin port of a server (ADMIN_PORT must be set). */
export async function readiness(server: Server): Promise<{ reason?: string; warning?: string }> {
  return json(await ask(adminOf(server), '/readyz'));
}

export const unready = async (server: Server) => (await readiness(server)).reason;
