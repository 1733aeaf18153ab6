// `vitrine media status`
import { Readable } from 'node:stream';
import type { Command } from 'commander';
import { megabytes } from '../files/terminal.ts';
import { counted } from '../records/counted.ts';
import type { Archive, MediaSummary } from '../stores/archive.ts';
import { openForExport } from '../stores/open.ts';
import type { CommandContext } from './context.ts';
import { createCommand, databaseOf, examples, type SettingFlags } from './options.ts';

interface StatusFlags extends SettingFlags {
  readonly missing: boolean;
}

export const mediaStatusCommand = (context: CommandContext): Command =>
  createCommand('status', 'say how many pictures have copies, and why others have none')
    .option('--missing', 'write each picture without a copy as a line of JSON', false)
    .addHelpText('after', examples('vitrine media status', 'vitrine media status --missing > missing.ndjson'))
    .action((flags: StatusFlags) => runMediaStatus(flags, context));

async function runMediaStatus({ missing, ...flags }: StatusFlags, context: CommandContext): Promise<void> {
  if (missing) context.keepStdoutForData();
  const archive = await openForExport(databaseOf(flags, context));
  try {
    const reasons = new Map<string, number>();
    if (missing) {
      const { writeToStdout } = await import('../import/export.ts');
      await writeToStdout(Readable.from(missingLines(archive, reasons)), context.stdout);
    } else for await (const _ of missingLines(archive, reasons));
    const summary = await archive.mediaSummary();
    const mediaUrl = (await archive.mediaUrl()) ?? null;
    context.report({
      text: textOf(summary, mediaUrl, reasons),
      result: { mediaUrl, ...summary, missing: Object.fromEntries(reasons) },
    });
  } finally {
    await archive.close();
  }
}

const NOT_TRIED = 'not fetched yet';

/** Each picture without a copy, as a line. Counts them by reason. */
async function* missingLines(archive: Archive, reasons: Map<string, number>): AsyncGenerator<string> {
  for await (const one of archive.missing()) {
    const reason = one.reason ?? NOT_TRIED;
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    yield `${JSON.stringify(one)}\n`;
  }
}

function textOf(
  { copies, files, bytes, likelyPlaceholders }: MediaSummary,
  mediaUrl: string | null,
  reasons: ReadonlyMap<string, number>,
): string {
  const without = [...reasons].toSorted(([, one], [, other]) => other - one);
  const address = mediaUrl === null ? 'not linked yet' : `served under ${mediaUrl}`;
  return [
    `pictures with a copy: ${copies}; ${counted(files, 'file')}, ${megabytes(bytes)}, ${address}`,
    ...(without.length === 0 ? [] : ['places in records without a copy:']),
    ...without.map(([reason, count]) => `${String(count).padStart(8)}  ${reason}`),
    ...likelyPlaceholders.map(
      ({ file, addresses }) =>
        `likely a placeholder: ${file}, from ${addresses} addresses (\`vitrine media fetch --placeholder\` refuses it)`,
    ),
  ].join('\n');
}
