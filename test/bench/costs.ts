// Promised figures that are no rows of requests: bytes, the first view of pages, the size of a database, imports, starts.
import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { launch } from '../browser-launch.ts';
import { findProgram } from '../programs.ts';
import { writePeople } from './data.ts';
import { ITEMS_EACH, vitrineDatabase } from './dataset.ts';
import { request } from './load.ts';
import type { Promised } from './measure.ts';
import { startPrintedNginx } from './nginx.ts';
import { type Process, peerFile, start, startPeer, startVitrine, stop, vitrine } from './processes.ts';

export interface CostOptions {
  readonly folder: string;
  /** How many items are imported. */
  readonly items: number;
  readonly rounds: number;
}

export const COSTS: Record<string, (options: CostOptions) => Promise<Promised[]>> = {
  wire: measureWire,
  views: measureViews,
  import: measureImport,
  start: measureStart,
};

const fewUsers = (folder: string) => vitrineDatabase(folder, { users: 100, profiles: 100 });

async function measureWire({ folder }: CostOptions): Promise<Promised[]> {
  const server = await startVitrine(await fewUsers(folder));
  const bytes = async (encoding: string) =>
    (await request(server.port, '/a/api/?user=user1&post=true', { 'accept-encoding': encoding })).body.length;
  const figure = (await bytes('gzip')) / (await bytes('identity'));
  await stop(server);
  return [{ what: 'bytes of a list of 15 items, gzip against identity', figure, atMost: 0.35, unit: '×' }];
}

const VIEWS = { '/': 45, '/docs': 26, '/people/b/ada': 45 };

/** What a browser with an empty cache receives from the sample site behind the printed nginx. */
async function measureViews({ folder }: CostOptions): Promise<Promised[]> {
  if (!findProgram('nginx') || !findProgram('chromium')) return [];
  const server = await start(() => vitrine('serve', '--samples'), { TRUST_PROXY: 'loopback' }, '/healthz');
  const nginx = await startPrintedNginx(folder, server, true);
  const browser = await launch();
  const promises: Promised[] = [];
  for (const [path, atMost] of Object.entries(VIEWS)) {
    const page = await (await browser.newContext()).newPage();
    const session = await page.context().newCDPSession(page);
    let bytes = 0;
    await session.send('Network.enable');
    session.on('Network.loadingFinished', ({ encodedDataLength }) => void (bytes += encodedDataLength));
    await page.goto(`http://127.0.0.1:${nginx.port}${path}`, { waitUntil: 'networkidle' });
    promises.push({
      what: `first view of ${path} behind the printed nginx`,
      figure: bytes / 1024,
      atMost,
      unit: 'KB',
    });
    await page.context().close();
  }
  await browser.close();
  await stop(nginx);
  await stop(server);
  return promises;
}

/** Makes a process print the milliseconds of CPU that it used. */
const TELL = `data:text/javascript,process.on('exit', () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  process.stderr.write('\\ncpu ' + (userCPUTime + systemCPUTime) / 1000);
})`;

/** Next to a program written by hand, which makes no lists. */
async function measureImport({ folder, items, rounds }: CostOptions): Promise<Promised[]> {
  const own = join(folder, 'import');
  rmSync(own, { recursive: true, force: true });
  mkdirSync(own);
  const file = (name: string) => join(own, name);
  const paths = { input: file('all.ndjson'), database: file('own.db'), output: file('out.ndjson') };
  await writePeople(paths.input, Math.ceil(items / ITEMS_EACH), ITEMS_EACH);
  const [program = '', ...command] = vitrine('import', '--database-url', paths.database, paths.input);
  const [, ...exporting] = vitrine('export', '--database-url', paths.database, paths.output);
  const byHand = join(own, 'by-hand.db');
  async function cpu(args: readonly string[], made: string): Promise<number> {
    for (const end of ['', '-wal', '-shm']) rmSync(`${made}${end}`, { force: true });
    const { stderr } = await promisify(execFile)(program, ['--import', TELL, ...args]);
    return Number(/^cpu (\S+)/m.exec(stderr)?.[1]);
  }
  const costs = { own: Number.POSITIVE_INFINITY, byHand: Number.POSITIVE_INFINITY };
  for (let round = 0; round < rounds; round++) {
    costs.own = Math.min(costs.own, await cpu(command, paths.database));
    costs.byHand = Math.min(
      costs.byHand,
      await cpu([peerFile('import-by-hand'), paths.input, byHand], byHand),
    );
  }
  await cpu(exporting, paths.output);
  const size = statSync(paths.database).size / statSync(paths.output).size;
  return [
    {
      what: 'CPU of an import against one by hand without lists',
      figure: costs.own / costs.byHand,
      atMost: 2.9,
      unit: '×',
    },
    { what: 'database against the NDJSON of its export', figure: size, atMost: 2.8, unit: '×' },
  ];
}

const PROBE = '/a/api/?user=user1';

/** From the spawn to the first response, next to a Fastify server with TypeBox and one route. */
async function measureStart({ folder, rounds }: CostOptions): Promise<Promised[]> {
  const database = await fewUsers(folder);
  const cases = [
    ['without a compile cache', { NODE_DISABLE_COMPILE_CACHE: '1' }, { NODE_DISABLE_COMPILE_CACHE: '1' }],
    ['with a compile cache', {}, { NODE_COMPILE_CACHE: join(folder, 'compile-cache') }],
  ] as const;
  const milliseconds = async (run: () => Promise<Process>) => {
    const server = await run();
    // A compile cache is written at an orderly exit.
    await stop(server);
    return server.startMs;
  };
  const promises: Promised[] = [];
  for (const [name, ownEnv, peerEnv] of cases) {
    const runs = [
      () => startVitrine(database, { ...ownEnv }, PROBE),
      () => startPeer('fastify-typebox', { ...peerEnv }, PROBE),
    ];
    const times = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    // The first start fills the caches.
    for (const run of runs) await milliseconds(run);
    for (let round = 0; round < 3 * rounds; round++)
      for (const [index, run] of runs.entries())
        times[index] = Math.min(times[index] as number, await milliseconds(run));
    const figure = (times[0] as number) / (times[1] as number);
    promises.push({
      what: `first response after a start ${name}, against Fastify with one route`,
      figure,
      atMost: 2.5,
      unit: '×',
    });
  }
  return promises;
}
