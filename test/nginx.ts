// Runs nginx in front of test servers, with exactly the configuration that `vitrine print nginx` prints.

import { freePort } from './free-port.ts';
import { runNginx } from './nginx-any.ts';
import { fillIn, printed } from './printed.ts';
import { skipWithout } from './programs.ts';
import type { Server } from './rig.ts';

export const withoutNginx = skipWithout('nginx');

/** Starts nginx in front of servers on these ports. */
export const startNginx = (...upstreams: number[]) => startNginxWith({}, ...upstreams);

/** The same with settings. */
export async function startNginxWith(
  env: Record<string, string>,
  ...upstreams: number[]
): Promise<Pick<Server, 'port'>> {
  const port = await freePort();
  const recipe = printed('nginx', env);
  const upstreamLine = /^ *server 127\.0\.0\.1:8080.*;/m.exec(recipe)?.[0] ?? 'server 127.0.0.1:8080;';
  const servers = upstreams.map((upstream) => upstreamLine.replace('8080', String(upstream)));
  await runNginx(
    fillIn(
      recipe,
      ['/var/cache/vitrine', 'CACHE/vitrine'],
      ['listen 80;', `listen 127.0.0.1:${port};`],
      [upstreamLine, servers.join('\n')],
    ),
    [port],
  );
  return { port };
}
