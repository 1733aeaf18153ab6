// What is published: each tree has a line for each of its files in `manifest.ndjson`, in the order in which a run goes through the
// site. So a run reads the manifest of the last run beside the site, and more users need no more memory.
import { appendFileSync, closeSync, createReadStream, existsSync, openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { FAMILIES } from '../../records/kinds.ts';
import { isObject } from '../../records/scalar.ts';
import { OutputError } from '../../stores/output.ts';

/** One file. */
export interface ManifestEntry {
  /** Whose file it is: `site`, a family with the key of a user, or `media` with the name of a copy. */
  readonly owner: string;
  /** Names all that the owner's files were made of. Empty if one of them lacks something that the next run may find. */
  readonly tag: string;
  /** Below `files/`. */
  readonly path: string;
  /** The canonical address and its host, if there are any. */
  readonly address: string | null;
  readonly host: string | null;
  readonly type: string;
  /** As the server sends it. */
  readonly etag: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** A file with an address. */
export interface SampleEntry extends Pick<ManifestEntry, 'type' | 'path' | 'host'> {
  readonly address: string;
}

/** The files of an owner, by path. */
export interface OwnedFiles extends Pick<ManifestEntry, 'owner' | 'tag'> {
  readonly entries: ReadonlyMap<string, ManifestEntry>;
}

/** Files of a kind share headers: those in a folder, or one that is there once. */
export const kindOf = ({ path }: Pick<ManifestEntry, 'path'>) =>
  path.startsWith('site/') ? path : (path.split('/', 1)[0] ?? '');

export interface Listed {
  readonly files: number;
  readonly bytes: number;
  /** A file of each kind and type that has an address. */
  readonly samples: readonly SampleEntry[];
}

/** Adds entries up. */
export function createListing() {
  const samples = new Map<string, SampleEntry>();
  let files = 0;
  let bytes = 0;
  return {
    add(entry: ManifestEntry): void {
      files++;
      bytes += entry.bytes;
      const { address } = entry;
      const sort = `${kindOf(entry)} ${entry.type}`;
      if (address !== null && !samples.has(sort)) samples.set(sort, { ...entry, address });
    },
    total(): Listed {
      const sorted = [...samples].sort(([one], [other]) => (one < other ? -1 : 1));
      return { files, bytes, samples: sorted.map(([, sample]) => sample) };
    },
  };
}

/** The parts of a site, in the order in which a run goes through them. */
const PARTS: readonly string[] = ['site', ...FAMILIES, 'media'];

/** Both stores order users by the bytes of their keys. */
export function compareOwners(one: string, other: string): number {
  const [[part, key], [otherPart, otherKey]] = [splitOwner(one), splitOwner(other)];
  return (
    PARTS.indexOf(part) - PARTS.indexOf(otherPart) || Buffer.compare(Buffer.from(key), Buffer.from(otherKey))
  );
}

function splitOwner(owner: string): [part: string, key: string] {
  const at = owner.indexOf(' ');
  return at === -1 ? [owner, ''] : [owner.slice(0, at), owner.slice(at + 1)];
}

const CHUNK = 64 * 1024;

/** Node's reader of lines takes these for ends of lines, and names may have them. */
const SEPARATORS = /[\u2028\u2029]/g;
const escapeSeparator = (separator: string) => `\\u${separator.charCodeAt(0).toString(16)}`;

/** Writes a new manifest. */
export function openManifest(file: string) {
  const fd = openSync(file, 'wx');
  let lines = '';

  function flush(): void {
    appendFileSync(fd, lines);
    lines = '';
  }

  return {
    add(entry: ManifestEntry): void {
      lines += `${JSON.stringify(entry).replace(SEPARATORS, escapeSeparator)}\n`;
      if (lines.length > CHUNK) flush();
    },
    close(): void {
      flush();
      closeSync(fd);
    },
  };
}

/** The owners of a manifest, in its order. Earlier versions of Vitrine wrote lines without owners. */
export async function* readManifest(file: string): AsyncGenerator<OwnedFiles> {
  if (!existsSync(file)) return;
  let owned: { owner: string; tag: string; entries: Map<string, ManifestEntry> } | undefined;
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const entry = readEntry(file, line);
    if (entry === undefined) continue;
    const { owner, tag, path } = entry;
    if (owned?.owner !== owner) {
      if (owned !== undefined) yield owned;
      owned = { owner, tag, entries: new Map() };
    }
    owned.entries.set(path, entry);
  }
  if (owned !== undefined) yield owned;
}

function readEntry(file: string, line: string): ManifestEntry | undefined {
  const entry = parse(line);
  if (!isObject(entry)) throw new OutputError(`${file} is damaged: remove it, and publish again`);
  return typeof entry.owner === 'string' ? (entry as unknown as ManifestEntry) : undefined;
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
