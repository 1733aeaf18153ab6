// What platforms take at most. A site that is too large is refused before anything is written, with what to leave out.
import { statSync } from 'node:fs';
import { OutputError } from '../files/output.ts';
import { counted } from '../records/printable.ts';
import { PARTS, type Part } from './choices.ts';
import { listUnits, type PublishedFile } from './files.ts';
import { type Limits, PLATFORMS } from './platforms.ts';
import type { Run } from './run.ts';
import { findPart } from './targets.ts';

const MIB = 2 ** 20;

export async function checkLimits(run: Run): Promise<void> {
  const { limits } = PLATFORMS[run.platform];
  if (limits === undefined) return;
  const files = new Map<Part, number>();
  for await (const unit of listUnits(run, 'everything'))
    for (const file of unit.files) {
      const part = findPart(file.kind);
      files.set(part, (files.get(part) ?? 0) + file.paths.length);
      if (part === 'media') await checkSize(run, file, limits);
    }
  checkCount(run, limits, files);
}

/** `files` are their numbers, by part. */
export function checkCount(
  { platform }: Pick<Run, 'platform'>,
  { files: most }: Pick<Limits, 'files'>,
  files: ReadonlyMap<Part, number>,
): void {
  const total = files.values().reduce((sum, count) => sum + count, 0);
  if (total <= most) return;
  const parts = PARTS.filter((part) => files.has(part)).map((part) => `${part} (${files.get(part)})`);
  throw new OutputError(
    `${platform} takes ${counted(most, 'file')}, and these are ${total}: leave out, with --without, some of ${parts.join(', ')}; or publish fewer variants`,
  );
}

async function checkSize(
  { platform }: Run,
  { paths, ask }: PublishedFile,
  { bytesOfFile }: Limits,
): Promise<void> {
  const content = await ask(undefined);
  if (typeof content !== 'object' || Buffer.isBuffer(content.body)) return;
  const { size } = statSync(content.body.file);
  if (size > bytesOfFile)
    throw new OutputError(
      `${platform} takes files of ${bytesOfFile / MIB} MiB, and ${paths[0]?.path} has ${Math.ceil(size / MIB)}: publish with --without media`,
    );
}
