// Test sites for the mirror with given responses, and the mirror command.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { openArchive, openReader, openWriter } from '../../src/stores/open.ts';
import type { MirrorOptions } from '../../src/tools/mirror/context.ts';
import { runMirror } from '../../src/tools/mirror/mirror.ts';
import { atEnd } from './at-end.ts';
import { tempFolder } from './files.ts';
import { folio } from './records.ts';
import { done, run } from './run.ts';

/** For runs in this process. */
export const PACE = { concurrency: 4, rate: 5000, startRate: 5000, timeout: 10_000, retries: 0 };

export const mirrorArgs = (database: string, variant: string, from: string, ...more: string[]) =>
  ['mirror', '--database-url', database, '--variant', variant, '--from', from, '--rate', '5000'].concat(more);
export const mirror = (...args: Parameters<typeof mirrorArgs>) => run(mirrorArgs(...args));

type People = Record<string, { profile: unknown; shots?: unknown }>;

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A site with these responses; `asked` lists the requested URLs. */
export async function startSite(answer: Answer) {
  const asked: string[] = [];
  const site = createServer((request, response) => {
    asked.push(request.url as string);
    answer(request, response);
  });
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  const close = () => {
    site.close();
    site.closeAllConnections();
  };
  atEnd(close);
  return { asked, close, url: `http://127.0.0.1:${(site.address() as AddressInfo).port}` };
}

export type Files = Record<
  string,
  string | Buffer | ((response: ServerResponse, request: IncomingMessage) => unknown)
>;

const missing: Answer = (_, response) => void response.writeHead(404).end('no');

/** A site with these files by their paths, and these answers for all other requests. */
export async function startFiles(files: Files, others: Answer = missing) {
  const site = await startSite((request, response) => {
    const file = files[request.url as string];
    if (file === undefined) others(request, response);
    else if (typeof file === 'function') file(response, request);
    else response.end(file);
  });
  return { ...site, host: new URL(site.url).host };
}

/** So many users: their names, and responses of variant B for them and for others. */
export function crowd(size: number, others: People = {}) {
  const names = Array.from({ length: size }, (_, index) => `user${index}`);
  const people = names.map((name, index) => [name, { profile: folio(index + 1, name) }] as const);
  return { names, answer: portfolio({ ...Object.fromEntries(people), ...others }) };
}

/** Responses of variant B from a table of bodies; all other users are unknown. */
export function portfolio(people: People): Answer {
  return ({ url = '' }, response) => {
    const [, name = '', items] = /^\/api\/username\/([^/?]*)(\/shots)?$/.exec(url) ?? [];
    const of = people[decodeURIComponent(name)];
    const body = of && (items === undefined ? of.profile : (of.shots ?? { Shots: [] }));
    if (body === undefined) response.writeHead(404).end('no');
    else if (typeof body === 'string' || Buffer.isBuffer(body)) response.end(body);
    else response.end(JSON.stringify(body));
  };
}

export const exported = (database: string) => done(['export', '--database-url', database]);
export const namesIn = async (database: string) =>
  [...(await exported(database)).matchAll(/"username":"([^"]*)"/g)].map(([, name]) => name);

/** Runs a mirror of variant B in this process, for databases of either kind. */
export async function mirrorHere(
  database: string,
  from: string,
  names: readonly string[],
  { state = join(tempFolder(), 'state'), ...flags }: Partial<MirrorOptions> = {},
) {
  let faults = '';
  await using writer = await openWriter(database);
  const outcome = await runMirror({
    ...PACE,
    variant: 'b',
    from: new URL(from),
    users: { names },
    state,
    writer,
    prune: false,
    maxRemoved: { share: 1 },
    lenient: false,
    adopt: false,
    openReader: () => openReader(database),
    openArchive: () => openArchive(database),
    out: { write: (text: string) => (faults += text) },
    signal: new AbortController().signal,
    ...flags,
  });
  return { ...outcome, state, faults };
}
