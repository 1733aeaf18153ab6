// Closes a server: requests in flight may finish, and whatever is open after the grace time is cut.
import type { FastifyInstance } from 'fastify';
import { closeAllConnections, closeSilentConnections } from '../edge/http-server.ts';

/** A new connection may have its request on the way; one that stays silent this long is closed. */
const SILENT_GRACE_MS = 500;

export async function closeInTime(
  app: Pick<FastifyInstance, 'server' | 'close'>,
  grace: number,
): Promise<void> {
  const timers = [
    setTimeout(() => closeSilentConnections(app.server), Math.min(SILENT_GRACE_MS, grace)),
    setTimeout(() => closeAllConnections(app.server), grace),
  ];
  await app.close();
  for (const timer of timers) clearTimeout(timer);
}
