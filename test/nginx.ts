// A real nginx in front of servers of ours, with the very configuration that README.md gives.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NGINX, runNginx } from './nginx-any.ts';
import { ROOT, type Server } from './rig.ts';
import { freePort } from './stress.ts';

/** Whether tests are to be passed over for want of nginx; never where everything has to be there. */
export const withoutNginx = NGINX === undefined && !process.env.CI;
if (withoutNginx)
  console.warn('nginx is not installed: its tests are passed over (apt-get install nginx-light)');

/** The block under "Behind nginx" in README.md. */
export function readmeBlock(): string {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const block = /^#+ Behind nginx$.*?^```nginx\n(.*?)^```/ms.exec(readme)?.[1];
  if (block === undefined) throw new Error('README.md has no ```nginx block under a heading "Behind nginx"');
  return block;
}

/** Starts nginx in front of servers on these ports. */
export async function startNginx(...upstreams: number[]): Promise<Pick<Server, 'port'>> {
  const port = await freePort();
  const fillIn = (block: string, [found, filler]: readonly [string, string]) => {
    if (block.split(found).length !== 2)
      throw new Error(`the README's nginx block should have ${found} once`);
    return block.replace(found, filler);
  };
  const upstreamLine = /^ *server 127\.0\.0\.1:8080.*;/m.exec(readmeBlock())?.[0] ?? 'server 127.0.0.1:8080;';
  const block = [
    ['/var/cache/nginx/vitrine', 'CACHE/vitrine'] as const,
    ['listen 80;', `listen 127.0.0.1:${port};`] as const,
    [
      upstreamLine,
      upstreams.map((upstream) => upstreamLine.replace('8080', String(upstream))).join('\n'),
    ] as const,
  ].reduce(fillIn, readmeBlock());
  await runNginx(block, [port]);
  return { port };
}
