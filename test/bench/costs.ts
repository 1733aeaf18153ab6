// Promised figures that are no rows of requests: bytes, the first view of pages, the size of a database, imports, starts.
import { execFile } from 'node:child_process';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { launch } from '../support/browser-launch.ts';
import { findProgram } from '../support/programs.ts';
import { type Contenders, execute } from './contenders.ts';
import { request } from './load.ts';
import type { Promised } from './measure.ts';
import {
  PROBE,
  peerFile,
  type Server,
  startBuilt,
  startPeer,
  startPrintedNginx,
  startSamples,
  startVitrine,
  stop,
  vitrine,
} from './servers.ts';

export const COSTS: Record<string, (contenders: Contenders, rounds: number) => Promise<Promised[]>> = {
  wire: measureWire,
  views: measureViews,
  import: measureImport,
  start: measureStart,
};

async function measureWire({ random }: Contenders): Promise<Promised[]> {
  const { port } = await random();
  const bytes = async (encoding: string) =>
    (await request(port, `${PROBE}&post=true`, { 'accept-encoding': encoding })).body.length;
  const figure = (await bytes('gzip')) / (await bytes('identity'));
  return [{ what: 'bytes of a list of 15 items, gzip against identity', figure, atMost: 0.35, unit: '×' }];
}

const VIEWS = { '/': 40, '/docs': 26, '/people/b/ada': 45 };

/** What a browser with an empty cache receives from the sample site behind the printed nginx. */
async function measureViews({ folder }: Contenders): Promise<Promised[]> {
  if (!findProgram('nginx') || !findProgram('chromium')) return [];
  const nginx = await startPrintedNginx(folder, await startSamples(), true);
  const browser = await launch();
  const promises: Promised[] = [];
  for (const [path, atMost] of Object.entries(VIEWS)) {
    const page = await (await browser.newContext()).newPage();
    const session = await page.context().newCDPSession(page);
    let bytes = 0;
    await session.send('Network.enable');
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await page.goto(`http://127.0.0.1:${nginx.port}${path}`, { waitUntil: 'networkidle' });
    const what = `first view of ${path} behind the printed nginx`;
    promises.push({ what, figure: bytes / 1024, atMost, unit: 'KB' });
  }
  await browser.close();
  return promises;
}

/** Makes a process print the milliseconds of CPU that it used. */
const TELL = `data:text/javascript,process.on('exit', () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  process.stderr.write('\\ncpu ' + (userCPUTime + systemCPUTime) / 1000);
})`;

/** Next to a program written by hand, which makes no lists. */
async function measureImport({ folder, input }: Contenders, rounds: number): Promise<Promised[]> {
  const [database, byHand, output] = ['own.db', 'by-hand.db', 'out.ndjson'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  async function cpu(command: readonly string[], made: string): Promise<number> {
    for (const end of ['', '-wal', '-shm']) rmSync(`${made}${end}`, { force: true });
    const [program = '', ...args] = command;
    const { stderr } = await promisify(execFile)(program, ['--import', TELL, ...args]);
    return Number(/^cpu (\S+)/m.exec(stderr)?.[1]);
  }
  const commands = [
    [vitrine('import', '--database-url', database, await input()), database],
    [[process.execPath, peerFile('import-by-hand'), await input(), byHand], byHand],
  ] as const;
  const [own, other] = await leastOf(
    rounds,
    commands.map(
      ([command, made]) =>
        () =>
          cpu(command, made),
    ),
  );
  await execute(vitrine('export', '--database-url', database, output));
  const size = statSync(database).size / statSync(output).size;
  return [
    {
      what: 'CPU of an import against one by hand without lists',
      figure: own / other,
      atMost: 2.9,
      unit: '×',
    },
    { what: 'database against the NDJSON of its export', figure: size, atMost: 1.9, unit: '×' },
  ];
}

/** From the spawn to the first response, next to a Fastify server with TypeBox and one route. */
async function measureStart({ folder, database }: Contenders, rounds: number): Promise<Promised[]> {
  const path = await database();
  const off = { NODE_DISABLE_COMPILE_CACHE: '1' };
  await execute(['npm', 'run', '--silent', 'build']);
  const cache = { NODE_COMPILE_CACHE: join(folder, 'compile-cache') };
  const cases = [
    ['of the package, without a compile cache', startBuilt, off, off, 1.7],
    ['of the package, with one, as the image has it', startBuilt, {}, cache, 2.5],
    ['of a checkout, with one', startVitrine, {}, cache, 2.5],
  ] as const;
  const milliseconds = async (starting: Promise<Server>) => {
    const server = await starting;
    // A compile cache is written at an orderly exit.
    await stop(server);
    return server.startMs;
  };
  const promises: Promised[] = [];
  for (const [name, startOurs, env, peerEnv, atMost] of cases) {
    const runs = [
      () => milliseconds(startOurs(path, env)),
      () => milliseconds(startPeer('fastify-typebox', peerEnv)),
    ];
    // The first start fills the caches.
    const [own, other] = await leastOf(2 * rounds, runs);
    const what = `first response after a start ${name}, against Fastify with one route`;
    promises.push({ what, figure: own / other, atMost, unit: '×' });
  }
  return promises;
}

/** The least figure of each of two runs, which take turns. */
async function leastOf(rounds: number, runs: readonly (() => Promise<number>)[]): Promise<[number, number]> {
  const least = runs.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < rounds; round++)
    for (const [index, run] of runs.entries()) least[index] = Math.min(least[index] as number, await run());
  return least as [number, number];
}
