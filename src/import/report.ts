// What people see of an import: its progress, and a table of what it changed.
import { bar, createReport, megabytes, secondsLeft, type Terminal } from '../files/terminal.ts';
import { KIND_NAMES, KINDS } from '../records/kinds.ts';
import type { MendingCounts } from '../records/mending.ts';
import { counted } from '../records/printable.ts';
import type { Tallies } from '../stores/load.ts';

export interface Progress {
  readonly phase: 'reading' | 'writing';
  readonly bytes: number;
  /** Unknown if standard input is among the files. */
  readonly totalBytes: number | undefined;
  readonly records: number;
}

export function createImportReport(out: Terminal) {
  const report = createReport(out);
  const progress = (now: Progress) =>
    report.show((seconds) => describe(now, seconds), { transient: now.phase === 'writing' });
  return { ...report, progress };
}

function describe({ phase, bytes, totalBytes, records }: Progress, seconds: number): string {
  if (phase === 'writing') return `writing ${counted(records, 'record')} …`;
  const speed = `${counted(records, 'record')}, ${Math.round(records / seconds)}/s`;
  if (totalBytes === undefined || totalBytes === 0) return `reading  ${megabytes(bytes)}  ${speed}`;
  const share = Math.min(bytes / totalBytes, 1);
  const size = `${megabytes(bytes)} of ${megabytes(totalBytes)}`;
  return `reading  ${bar(share)}  ${size}  ${speed}, ${secondsLeft(share, seconds)} s left`;
}

/** A line for each way in which records were mended. */
export function describeMended({ emptied, escaped, isUnescaped }: MendingCounts): string[] {
  const fields = Object.entries(emptied).map(([member, times]) => `${member} ${times} times`);
  const texts = counted(escaped, 'text');
  const what = isUnescaped
    ? `${texts} read as HTML`
    : `${texts} with HTML entities kept as they are: --unescape reads them`;
  return [...(fields.length > 0 ? [`left empty: ${fields.join(', ')}`] : []), ...(escaped > 0 ? [what] : [])];
}

const COLUMNS = ['new', 'changed', 'unchanged', 'removed'] as const;
const GAP = 2;

export function summary(tallies: Tallies): string {
  const hasTakedowns = KIND_NAMES.some((kind) => tallies[kind].takenDown > 0);
  const columns = hasTakedowns ? ([...COLUMNS, 'takenDown'] as const) : COLUMNS;
  const kinds = KIND_NAMES.filter((kind) => columns.some((column) => tallies[kind][column] > 0));
  const rows = kinds.map((kind) => [
    KINDS[kind].plural,
    ...columns.map((column) => String(tallies[kind][column])),
  ]);
  const titles = ['', ...COLUMNS, ...(hasTakedowns ? ['taken down'] : [])];
  const table = [titles, ...rows];
  const widths = titles.map((_, column) => Math.max(...table.map((row) => (row[column] as string).length)));
  const [first = 0, ...others] = widths;
  return table
    .map(([title = '', ...cells]) => {
      const numbers = cells.map((cell, index) => cell.padStart((others[index] as number) + GAP));
      return title.padEnd(first) + numbers.join('');
    })
    .join('\n');
}
