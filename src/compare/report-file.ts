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
  const existing = statSync(file, { throwIfNoEntry: false });
  if (existing !== undefined && !existing.isFile())
    throw new OutputError(`${file} is not a file: give the name of one`);
  const end = existing === undefined ? 0 : await readReport(file, existing.size, head, onLine);
  const fd = asOutputErrors(file, () => openSync(file, 'a'));
  const add = (line: ReportHead | UserComparison) =>
    asOutputErrors(file, () => appendFileSync(fd, `${JSON.stringify(line)}\n`));
  try {
    asOutputErrors(file, () => ftruncateSync(fd, end));
    if (end === 0) add(head);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return { add, [Symbol.dispose]: () => closeSync(fd) };
}

/** Hands over the line of each user; the place where the next line goes. No other file is taken for a report. */
async function readReport(file: string, size: number, head: ReportHead, onLine: OnLine): Promise<number> {
  const expected = JSON.stringify(head);
  const other = new OutputError(`${file} is not a report of vitrine compare: name another file`);
  let end = 0;
  await using handle = await open(file);
  for await (const text of handle.readLines()) {
    const next = end + Buffer.byteLength(text) + 1;
    // A line that was being written when the run was killed has no end.
    const isCut = next > size;
    if (end === 0) {
      if (isCut && expected.startsWith(text)) return 0;
      if (isCut || !text.startsWith('{"compare":')) throw other;
      if (text !== expected)
        throw new OutputError(
          `${file} is the report of other sites, or of another variant: remove it, or name another file`,
        );
    } else if (isCut) return end;
    else onLine(JSON.parse(text));
    end = next;
  }
  if (end !== size) throw other;
  return end;
}
