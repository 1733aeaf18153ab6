// What hosts take at most. A site that is too large is refused before anything is written, with what to leave out.
import { statSync } from 'node:fs';
import { OutputError } from '../files/output.ts';
import { counted } from '../records/printable.ts';
import type { HostName } from './hosts.ts';
import type { Unit } from './source.ts';
import { findPart, PARTS } from './targets.ts';

const MIB = 2 ** 20;

const LIMITS: Partial<Record<HostName, { readonly files: number; readonly bytesOfFile: number }>> = {
  // developers.cloudflare.com/workers/platform/limits, "Static Assets": of one version of a Worker, on a paid plan.
  cloudflare: { files: 100_000, bytesOfFile: 25 * MIB },
};

export async function checkLimits(
  host: HostName,
  listUnits: () => AsyncIterable<Unit>,
  limits = LIMITS[host],
): Promise<void> {
  if (limits === undefined) return;
  const kinds = new Map<string, number>();
  let total = 0;
  for await (const { files } of listUnits())
    for (const { kind, paths, ask } of files) {
      const part = findPart(kind);
      kinds.set(part, (kinds.get(part) ?? 0) + paths.length);
      total += paths.length;
      const content = kind === 'media' ? await ask(undefined) : undefined;
      if (typeof content !== 'object' || Buffer.isBuffer(content.body)) continue;
      const { size } = statSync(content.body.file);
      if (size > limits.bytesOfFile)
        throw new OutputError(
          `${host} takes files of ${limits.bytesOfFile / MIB} MiB, and ${paths[0]?.path} has ${Math.ceil(size / MIB)}: publish with --without media`,
        );
    }
  if (total <= limits.files) return;
  const parts = PARTS.filter((part) => kinds.has(part)).map((part) => `${part} (${kinds.get(part)})`);
  throw new OutputError(
    `${host} takes ${counted(limits.files, 'file')}, and these are ${total}: leave out, with --without, some of ${parts.join(', ')}; or publish fewer variants`,
  );
}
