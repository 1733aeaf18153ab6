// Runs nginx in front of test servers, with exactly the configuration of the proxy guide.
import { runNginx } from './nginx-any.ts';
import { codeBlock } from './pages.ts';
import { skipWithout } from './programs.ts';
import type { Server } from './rig.ts';
import { freePort } from './stress.ts';

export const withoutNginx = skipWithout('nginx');

const RECIPE = codeBlock('src/guides/proxies.md', 'nginx', 'nginx');

/** Starts nginx in front of servers on these ports. */
export async function startNginx(...upstreams: number[]): Promise<Pick<Server, 'port'>> {
  const port = await freePort();
  const fillIn = (block: string, [found, filler]: readonly [string, string]) => {
    if (block.split(found).length !== 2)
      throw new Error(`the nginx block in src/guides/proxies.md must contain ${found} once`);
    return block.replace(found, filler);
  };
  const upstreamLine = /^ *server 127\.0\.0\.1:8080.*;/m.exec(RECIPE)?.[0] ?? 'server 127.0.0.1:8080;';
  const block = [
    ['/var/cache/nginx/vitrine', 'CACHE/vitrine'] as const,
    ['listen 80;', `listen 127.0.0.1:${port};`] as const,
    [
      upstreamLine,
      upstreams.map((upstream) => upstreamLine.replace('8080', String(upstream))).join('\n'),
    ] as const,
  ].reduce(fillIn, RECIPE);
  await runNginx(block, [port]);
  return { port };
}
