// Rolling out a snapshot to several nodes under load: no failed requests, no older or mixed data from any node.
import { copyFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../free-port.ts';
import { withoutProxy } from '../fronts.ts';
import { runNginx } from '../nginx-any.ts';
import { ask, done, ndjson, type Reply, type Server, startServer, tempFolder } from '../rig.ts';
import { bodiesOf, generation, generationOf, linesOf, startLoad, until } from '../stress.ts';

const NODES = 3;
const ROLL_OUTS = 3;

const GENERATIONS = Array.from({ length: ROLL_OUTS + 1 }, (_, index) => index + 1);

interface Node {
  readonly file: string;
  readonly server: Server;
}

describe.skipIf(withoutProxy('nginx'))('three nodes behind nginx', () => {
  const nodes: Node[] = [];
  const snapshots = new Map<number, string>();
  const staging = join(tempFolder(), 'staging.db');
  let port: number;

  /** Imports the records and writes a snapshot. */
  async function snapshotOf(number: number): Promise<string> {
    const snapshot = join(tempFolder(), 'snapshot.db');
    await done(['import', '--replace', '--max-removed', '100%', '--database-url', staging, '-'], {
      input: ndjson(...generation(number)),
    });
    await done(['snapshot', '--database-url', staging, snapshot]);
    return snapshot;
  }

  /** The recipe of the guide: copy next to the served file, then rename over it. */
  function putInPlace(snapshot: string, { file }: Node): void {
    copyFileSync(snapshot, `${file}.new`);
    renameSync(`${file}.new`, file);
  }

  beforeAll(async () => {
    for (const number of GENERATIONS) snapshots.set(number, await snapshotOf(number));
    for (let number = 0; number < NODES; number++) {
      const file = join(tempFolder(), 'site.db');
      copyFileSync(snapshots.get(1) as string, file);
      nodes.push({ file, server: await startServer({ DATABASE_URL: file, CACHE_CONTROL: 'no-store' }) });
    }
    port = await freePort();
    await runNginx(
      `upstream nodes {
        ${nodes.map(({ server }) => `server 127.0.0.1:${server.port} max_fails=0;`).join('\n')}
        keepalive 32;
      }
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass http://nodes;
          proxy_http_version 1.1;
          proxy_set_header Connection "";
          proxy_set_header Host $http_host;
          add_header X-Node $upstream_addr always;
        }
      }`,
      [port],
    );
  });

  test('a new snapshot goes live on one node after another under load', async () => {
    const bodies = new Map(GENERATIONS.map((number) => [number, bodiesOf(generation(number))]));
    const addresses = [...(bodies.get(1) as Map<string, string>).keys()];
    /** The newest generation each node has served so far. */
    const newest = new Map<string, number>();
    const seenBy = new Map<string, Set<number>>();

    function judge(address: string, { status, body, headers }: Reply): string | undefined {
      if (status !== 200) return `${status} ${body}`;
      const number = generationOf(body) ?? emptyGeneration(body);
      if (number === 0) return undefined;
      if (bodies.get(number)?.get(address) !== body)
        return `not what generation ${number} has: ${body.slice(0, 200)}`;
      const node = headers['x-node'] as string;
      newest.set(node, Math.max(newest.get(node) ?? 0, number));
      seenBy.set(node, (seenBy.get(node) ?? new Set()).add(number));
      return undefined;
    }

    // Parallel responses may arrive out of order; sequential requests show the order in which a node served them.
    async function watch(node: Node, stopped: () => boolean): Promise<string[]> {
      const faults: string[] = [];
      let last = 0;
      for (let turn = 0; !stopped(); turn++) {
        const address = addresses[turn % addresses.length] as string;
        const number = generationOf((await ask(node.server, address)).body) ?? last;
        if (number < last) faults.push(`${node.server.port} went back from ${last} to ${number}`);
        last = number;
      }
      return faults;
    }

    let over = false;
    const load = startLoad({ port }, addresses, judge, 6);
    const watches = nodes.map((node) => watch(node, () => over));
    try {
      await until('generation 1 from all', () => newest.size === NODES);
      for (const number of GENERATIONS.slice(1))
        for (const node of nodes) {
          putInPlace(snapshots.get(number) as string, node);
          const name = `127.0.0.1:${node.server.port}`;
          await until(`generation ${number} from ${name}`, () => newest.get(name) === number);
        }
    } finally {
      over = true;
    }
    expect(await load.stop()).toEqual([]);
    expect((await Promise.all(watches)).flat()).toEqual([]);
    expect(load.answered()).toBeGreaterThan(NODES * ROLL_OUTS * 10);
    expect([...seenBy].map(([, numbers]) => [...numbers].sort())).toEqual(
      Array.from({ length: NODES }, () => GENERATIONS),
    );
    for (const { server } of nodes) expect(linesOf(server).filter(({ level }) => level >= 50)).toEqual([]);
  });
});

/** An empty list is valid in every generation. */
const emptyGeneration = (body: string) => (/^\{"\w+":\[\]\}$/.test(body) ? 0 : Number.NaN);
