// The report: a line of JSON that names both sites, and one for each user. It is written as the run goes on, so that a run
// that was killed can go on from it.
import {
  appendFileSync,
  closeSync,
  createReadStream,
  ftruncateSync,
  openSync,
  readFileSync,
  statSync,
} from 'node:fs';
import { createInterface } from 'node:readline';
import { asOutputErrors, OutputError } from '../files/output.ts';
import { type ComparedUser, VERDICTS, type Verdict } from './verdicts.ts';

/** What a report is about: the first line of the file. */
export interface ReportHead {
  readonly compare: { readonly old: string; readonly new: string; readonly variant: string };
}

export interface ReportFile {
  add(line: ComparedUser): void;
  close(): void;
}

export interface ReportOptions {
  /** Whether an existing report is begun anew. */
  readonly restart: boolean;
  /** Gets each line of an existing report. */
  readonly onLine: (line: ComparedUser) => void;
}

const NEWLINE = 10;
const TO_DO = 'name another file, or give --restart';

/** Without a file nothing is kept. */
export async function openReport(
  file: string | undefined,
  head: ReportHead,
  options: ReportOptions,
): Promise<ReportFile> {
  if (file === undefined) return { add() {}, close() {} };
  const existing = statSync(file, { throwIfNoEntry: false });
  if (existing !== undefined && !existing.isFile())
    throw new OutputError(`${file} is not a file: give the name of one`);
  const whole = existing === undefined ? 0 : await endOfLastLine(file);
  if (existing !== undefined && existing.size > 0) await readReport(file, whole, head, options);
  const isNew = whole === 0 || options.restart;
  const fd = asOutputErrors(file, () => openSync(file, 'a'));
  const add = (line: object) => asOutputErrors(file, () => appendFileSync(fd, `${JSON.stringify(line)}\n`));
  try {
    // A line that was being written when the run was killed has no end.
    asOutputErrors(file, () => ftruncateSync(fd, isNew ? 0 : whole));
    if (isNew) add(head);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return { add, close: () => closeSync(fd) };
}

async function endOfLastLine(file: string): Promise<number> {
  let end = 0;
  let read = 0;
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    const newline = chunk.lastIndexOf(NEWLINE);
    if (newline >= 0) end = read + newline + 1;
    read += chunk.length;
  }
  return end;
}

/** Hands over the line of each user. No other file is taken for a report, which would be cut or written into. */
async function readReport(
  file: string,
  whole: number,
  head: ReportHead,
  { restart, onLine }: ReportOptions,
): Promise<void> {
  if (whole === 0) return refuseOther(file, head);
  const input = createReadStream(file, { end: whole - 1 });
  let number = 0;
  try {
    for await (const text of createInterface({ input })) {
      number++;
      const line = parse(text);
      if (number === 1) refuseHead(file, line, head, restart);
      else if (isUser(line)) onLine(line);
      else throw new OutputError(`${file}:${number} is not a line of a report: ${TO_DO}`);
      if (restart) return;
    }
  } finally {
    input.destroy();
  }
}

function refuseHead(file: string, line: unknown, head: ReportHead, restart: boolean): void {
  if (!isHead(line)) throw new OutputError(`${file} is not a report of vitrine compare: name another file`);
  if (!restart && JSON.stringify(line) !== JSON.stringify(head))
    throw new OutputError(`${file} is the report of other sites, or of another variant: ${TO_DO}`);
}

/** A file without a whole line is the beginning of a head, or not ours. */
function refuseOther(file: string, head: ReportHead): void {
  const expected = JSON.stringify(head);
  if (statSync(file).size > expected.length || !expected.startsWith(readFileSync(file, 'utf8')))
    throw new OutputError(`${file} is not a report of vitrine compare: name another file`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isHead = (line: unknown): line is ReportHead =>
  typeof line === 'object' && line !== null && 'compare' in line;

function isUser(line: unknown): line is ComparedUser {
  const { user, profile, items } = (line ?? {}) as Partial<ComparedUser>;
  const isCompared = (compared: ComparedUser['items'] | undefined) =>
    compared === null || VERDICTS.includes(compared?.class as Verdict);
  return typeof user === 'string' && profile !== null && isCompared(profile) && isCompared(items);
}
