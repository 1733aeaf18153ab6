// What people see of an import: its progress, records that look like mistakes, what was mended, and the counts at the end.

import { KIND_NAMES, KINDS, type KindName, perKind } from '../records/kinds.ts';
import type { MendingCounts } from '../records/mending.ts';
import { nearest } from '../records/nearest.ts';
import { describeFault, type Fault, type RawRecord, type Row } from '../records/normalise.ts';
import { brief, counted, printable, table } from '../records/printable.ts';
import { MEMBERS } from '../records/schemas.ts';
import { takedownKey } from '../records/user-name.ts';
import type { LinesOutput } from '../stores/output.ts';
import type { Misfit, Tallies } from '../stores/sql/load.ts';
import type { Entry } from './formats/entry.ts';
import { megabytes, type Report } from './terminal.ts';

export interface Progress {
  readonly bytes: number;
  /** Unknown if standard input is among the files. */
  readonly totalBytes: number | undefined;
  readonly records: number;
}

/** Shows how far the files are read. */
export function showReading(report: Pick<Report, 'step'>, { bytes, totalBytes, records }: Progress): void {
  const isKnown = totalBytes !== undefined && totalBytes > 0;
  const size = isKnown ? `${megabytes(bytes)} of ${megabytes(totalBytes)}` : megabytes(bytes);
  report.step('reading', isKnown ? Math.min(bytes / totalBytes, 1) : undefined, (seconds) => {
    const speed = Math.round(records / Math.max(seconds, 1));
    return `${size}  ${counted(records, 'record')}, ${speed}/s`;
  });
}

/** A line for each way in which records were mended. */
export function describeMended({ emptied, escaped, isUnescaped }: MendingCounts): string[] {
  const fields = Object.entries(emptied).map(([member, times]) => `${member} ${counted(times, 'time')}`);
  const texts = counted(escaped, 'text');
  const what = isUnescaped
    ? `${texts} read as HTML`
    : `${texts} with HTML entities kept as they are: --unescape reads them`;
  return [...(fields.length > 0 ? [`left empty: ${fields.join(', ')}`] : []), ...(escaped > 0 ? [what] : [])];
}

const COLUMNS = ['new', 'changed', 'unchanged', 'removed'] as const;

export function summary(tallies: Tallies): string {
  const hasTakedowns = KIND_NAMES.some((kind) => tallies[kind].takenDown > 0);
  const columns = hasTakedowns ? ([...COLUMNS, 'takenDown'] as const) : COLUMNS;
  const kinds = KIND_NAMES.filter((kind) => columns.some((column) => tallies[kind][column] > 0));
  const titles = ['', ...COLUMNS, ...(hasTakedowns ? ['taken down'] : [])];
  const rows = kinds.map((kind) => [KINDS[kind].plural, ...columns.map((column) => tallies[kind][column])]);
  return table([titles, ...rows]);
}

const TEXTS = Object.fromEntries(
  KIND_NAMES.map((kind) => {
    const members = Object.entries(MEMBERS[kind]);
    return [kind, members.filter(([, schema]) => schema['x-form'] === 'text').map(([member]) => member)];
  }),
);
const AT_SIGN = 64;
/** A tag, or one of the usual entities. `a < b`, `<3` and `<https://a.example>` are none. */
const HTML =
  /<\/?[a-z][a-z0-9]*(?:\s[^<>]*)?\/?>|<!--|&(?:amp|lt|gt|quot|apos|nbsp|hellip|[lr][sd]quo|[mn]dash|#\d+|#x[\da-f]+);/i;

const AT_NAMES = 'user names that begin with @';
const UNUSUAL_NAMES = 'user names with invisible characters, unusual forms or spaces';
const HTML_TEXTS = 'records with HTML in texts, which are served as they are';

export type Warnings = ReturnType<typeof createWarnings>;

/** `placeName` tells where a place is, as `FILE:LINE`. */
export function createWarnings(placeName: (place: number) => string) {
  const found = new Map<string, { count: number; readonly first: string }>();

  function warn(what: string, place: number, describe: () => string): void {
    const warning = found.get(what);
    if (warning !== undefined) warning.count++;
    else found.set(what, { count: 1, first: `${placeName(place)}: ${describe()}` });
  }

  function lookAtName(key: string, name: string, place: number): void {
    if (key.charCodeAt(0) === AT_SIGN)
      warn(AT_NAMES, place, () => `"${name}" is found as "${name}", not as "${name.slice(1)}"`);
    const usual = takedownKey(key);
    if (usual !== key) warn(UNUSUAL_NAMES, place, () => `"${name}", which looks like "${brief(usual)}"`);
  }

  return {
    look({ kind, userKey, record }: Row, source: RawRecord, place: number): void {
      if (userKey !== '') lookAtName(userKey, brief(source.username), place);
      // Searching the whole record for a character costs less than looking at each text.
      if (!mayBeHtml(record)) return;
      const member = TEXTS[kind]?.find((name) => isHtml(source[name]));
      if (member !== undefined) warn(HTML_TEXTS, place, () => `${member}, "${brief(source[member])}"`);
    },
    /** One line for each kind of warning. */
    lines: (): string[] =>
      [...found].map(([what, { count, first }]) => printable(`${what}: ${count}. The first is ${first}`)),
  };
}

const mayBeHtml = (text: string) => text.includes('<') || text.includes('&');
const isHtml = (value: unknown) => typeof value === 'string' && mayBeHtml(value) && HTML.test(value);

// Members of the files that no record has: misspelt ones would otherwise become empty without a word.

const NAMES = perKind((kind) => new Set(Object.keys(MEMBERS[kind])));

/** How many different names are counted one by one. */
const MOST_NAMES = 20;

export function createUnused() {
  const found = new Map<string, { count: number; readonly meant: string | undefined }>();
  let others = 0;

  function add(name: string, members: ReadonlySet<string>): void {
    const known = found.get(name);
    if (known !== undefined) known.count++;
    else if (found.size === MOST_NAMES) others++;
    else found.set(name, { count: 1, meant: nearest(name, [...members]) });
  }

  return {
    look(source: RawRecord, kind: KindName): void {
      const members = NAMES[kind];
      for (const name in source) if (!members.has(name)) add(brief(name), members);
    },
    /** How often each came. */
    counts: () => Object.fromEntries([...found].map(([name, { count }]) => [name, count])),
    /** A line that names them all; none if all members were used. */
    lines(): string[] {
      const names = [...found].map(([name, { count, meant }]) => {
        const times = `${name || '(no name)'} (${counted(count, 'time')})`;
        return meant === undefined ? times : `${times}: ${meant}?`;
      });
      if (others > 0) names.push(`others (${counted(others, 'time')})`);
      return names.length === 0 ? [] : [`not used: ${names.join(', ')}`];
    },
  };
}

// Reports the faults of an import, counts the faulty records, and writes them to a file.

const LONGEST_RETURNED = 300;
/** A place is a file's index times this, plus the line: no file has that many lines, and no import that many files. */
const LINES = 2 ** 32;

export const encodePlace = (file: number, line: number) => file * LINES + line;

/** A place in one of these files, as `FILE:LINE`. */
export const describePlace = (files: readonly string[], place: number) =>
  `${displayName(files[Math.floor(place / LINES)] as string)}:${place % LINES}`;

export type FaultReport = ReturnType<typeof createFaultReport>;

export function createFaultReport(
  files: readonly string[],
  onFault: (line: string) => void,
  rejects: LinesOutput | undefined,
  isMapped: boolean,
) {
  let records = 0;

  function report(place: number, fault: Fault, returned?: string): void {
    const origin = returned === undefined ? '' : `; the map returned ${brief(returned, LONGEST_RETURNED)}`;
    onFault(printable(`${describePlace(files, place)}: ${describeFault(fault)}${origin}`));
  }

  return {
    /** How many records were faulty. */
    count: () => records,
    entry(place: number, entry: Entry, found: readonly Fault[]): void {
      records++;
      const text = entry.text();
      for (const fault of found) report(place, fault, entry.isMapped ? text : undefined);
      rejects?.add(text);
    },
    misfit(misfit: Misfit): void {
      records++;
      report(misfit.place, misfit, isMapped ? misfit.record : undefined);
      rejects?.add(misfit.record);
    },
  };
}

export const displayName = (file: string) => (file === '-' ? 'standard input' : file);
