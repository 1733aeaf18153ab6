// The report: a line of JSON that names both sites, and one for each user. It is written as the run goes on, so that a run
// that was killed can go on from it.
import { appendFileSync, closeSync, ftruncateSync, openSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { asOutputErrors, OutputError } from '../files/output.ts';
import type { UserComparison } from './verdicts.ts';

/** What a report is about: the first line of the file. */
interface ReportHead {
  readonly compare: { readonly old: string; readonly new: string; readonly variant: string };
}

type OnLine = (line: UserComparison) => void;

/** Hands over each line of an existing report. Without a file nothing is kept. */
export async function openReport(file: string | undefined, head: ReportHead, onLine: OnLine) {
  if (file === undefined) return { add() {}, [Symbol.dispose]() {} };
  const end = await readReport(file, head, onLine);
  const fd = asOutputErrors(file, () => openSync(file, 'a'));
  const add = (line: ReportHead | UserComparison) =>
    asOutputErrors(file, () => appendFileSync(fd, `${JSON.stringify(line)}\n`));
  ftruncateSync(fd, end);
  if (end === 0) add(head);
  return { add, [Symbol.dispose]: () => closeSync(fd) };
}

/** Hands over the line of each user; the place where the next line goes. */
async function readReport(file: string, head: ReportHead, onLine: OnLine): Promise<number> {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return 0;
  if (!stats.isFile()) throw new OutputError(`${file} is not a file: give the name of one`);
  const first = JSON.stringify(head);
  let end = 0;
  await using handle = await open(file);
  for await (const text of handle.readLines()) {
    const next = end + Buffer.byteLength(text) + 1;
    if (end === 0 && !first.startsWith(text))
      throw new OutputError(`${file} is no report of comparing these sites: remove it, or name another file`);
    // A line that was being written when the run was killed has no end.
    if (next > stats.size) break;
    if (end > 0) onLine(JSON.parse(text));
    end = next;
  }
  return end;
}
