// What hosts take at most. A site that is too large is refused before anything is written, with what to leave out.
import { statSync } from 'node:fs';
import { OutputError } from '../files/output.ts';
import { counted } from '../records/printable.ts';
import type { HostName } from './hosts.ts';
import type { Unit } from './source.ts';
import type { Part } from './user-files.ts';

interface Limits {
  readonly files: number;
  /** On the plan that costs nothing. */
  readonly freeFiles: number;
  readonly bytesOfFile: number;
}

const MIB = 2 ** 20;

const LIMITS: Partial<Record<HostName, Limits>> = {
  // developers.cloudflare.com/workers/platform/limits, "Static Assets": of one version of a Worker.
  cloudflare: { files: 100_000, freeFiles: 20_000, bytesOfFile: 25 * MIB },
};

/** What is left out first: what takes longest to make. */
const ORDER: readonly Part[] = ['previews', 'cards', 'pages', 'feeds', 'media'];

interface SiteSize {
  /** Files that cannot be left out. */
  readonly others: number;
  readonly parts: ReadonlyMap<Part, number>;
  readonly largest: { readonly path: string; readonly bytes: number };
}

/** Throws if the host does not take the site; returns a note if it takes it on some plans only. */
export async function checkLimits(
  host: HostName,
  without: ReadonlySet<Part>,
  listUnits: () => AsyncIterable<Unit>,
): Promise<string | undefined> {
  const limits = LIMITS[host];
  return limits && compareSize({ ...limits, host, without }, await measure(listUnits()));
}

interface Bounds extends Limits {
  readonly host: HostName;
  readonly without: ReadonlySet<Part>;
}

export function compareSize(
  { host, files, freeFiles, bytesOfFile, without }: Bounds,
  { others, parts, largest }: SiteSize,
): string | undefined {
  if (largest.bytes > bytesOfFile)
    throw new OutputError(
      `${host} takes files of ${bytesOfFile / MIB} MiB, and ${largest.path} has ${Math.ceil(largest.bytes / MIB)}: publish with --without media`,
    );
  const total = [...parts.values()].reduce((sum, count) => sum + count, others);
  if (total <= files)
    return total > freeFiles
      ? `${host} takes ${freeFiles} files on its free plan, these are for a paid one`
      : undefined;
  const tooMany = `${host} takes ${counted(files, 'file')}, and these are ${total}`;
  const left = new Set(without);
  let rest = total;
  for (const part of ORDER) {
    if (rest <= files) break;
    if (parts.has(part)) left.add(part);
    rest -= parts.get(part) ?? 0;
  }
  if (rest <= files)
    throw new OutputError(`${tooMany}: publish with --without ${[...left]}, which leaves ${rest}`);
  throw new OutputError(
    `${tooMany}, ${others} of them profiles, lists and what cannot be left out: publish fewer variants, or for a host without this limit, such as s3 or nginx`,
  );
}

async function measure(units: AsyncIterable<Unit>): Promise<SiteSize> {
  const parts = new Map<Part, number>();
  let others = 0;
  let largest = { path: '', bytes: 0 };
  for await (const { files } of units)
    for (const { paths, ask } of files)
      for (const { path } of paths) {
        const part = findPart(path);
        if (part === undefined) others++;
        else parts.set(part, (parts.get(part) ?? 0) + 1);
        // Only copies of pictures and films can be so large.
        const content = part === 'media' ? await ask(undefined) : undefined;
        if (typeof content !== 'object' || Buffer.isBuffer(content.body)) continue;
        const bytes = statSync(content.body.file).size;
        if (bytes > largest.bytes) largest = { path, bytes };
      }
  return { others, parts, largest };
}

function findPart(path: string): Part | undefined {
  const [folder] = path.split('/');
  return folder === 'archives' ? 'feeds' : ORDER.find((part) => part === folder);
}
