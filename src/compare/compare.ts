// The compare command: asks two sites for the users of a list, and says where their answers differ. The report is written as
// the run goes on, so that a run that was killed can go on from it.
import { appendFileSync, closeSync, ftruncateSync, openSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { asOutputErrors, OutputError } from '../files/output.ts';
import type { Terminal } from '../files/terminal.ts';
import { brief } from '../records/printable.ts';
import { createHosts, type HostFlags } from '../remote/host.ts';
import { createSiteClient } from '../remote/site-client.ts';
import { listUsers, type UserList, type UserSource } from '../remote/user-list.ts';
import { createRun, createRunReport } from '../runs/each.ts';
import { VARIANTS, type Variant } from '../variants.ts';
import { compareUser, createPictureClient } from './user.ts';
import {
  type AnswerComparison,
  addUser,
  describeFailure,
  isFault,
  newTally,
  summarise,
  type UserComparison,
} from './verdicts.ts';

export interface CompareOptions extends HostFlags {
  readonly variant: Variant;
  /** The path of the report. */
  readonly report?: string;
  readonly pictureHosts?: readonly string[];
  readonly old: URL;
  readonly new: URL;
  readonly users: UserSource;
  readonly out: Terminal;
  readonly signal: AbortSignal;
}

const PAGE = 1000;
const MEMBERS_SHOWN = 5;
const LONGEST_REASON = 200;

export async function runCompare(options: CompareOptions) {
  const { signal, old, new: other, variant } = options;
  using shown = createRunReport(options.out, 'comparing');
  using list = await listUsers(options.users, shown.fault, signal);
  const total = list.total();
  if (total === 0) return { summary: '', result: null, failure: 'the list of users is empty' };
  const tally = newTally();
  tally.failed = list.invalid();
  const run = createRun({ report: shown, signal, total: list.size() });
  const head = { compare: { old: old.href, new: other.href, variant } };
  using report = await openReport(options.report, head, (line) => {
    if (!list.remove(line.user)) return;
    run.skip(1);
    addUser(tally, line);
  });
  using hosts = createHosts({ ...options, signal: run.signal, userAgent: 'vitrine-compare' });
  const pictures = { hosts, sites: [old, other], named: options.pictureHosts ?? [], signal: run.signal };
  const sites = {
    variant: VARIANTS[variant],
    oldSite: createSiteClient(hosts, old, variant),
    newSite: createSiteClient(hosts, other, variant),
    pictures: createPictureClient(pictures),
  };
  await run.each(
    [listNames(list)],
    options.concurrency,
    async (user) => {
      const line = await compareUser(user, sites);
      report.add(line);
      addUser(tally, line);
      for (const text of describeFaults(line)) shown.fault(text);
    },
    () => void tally.failed++,
  );
  const isResumable = options.report !== undefined;
  const failure = describeFailure(tally, { total, stopped: run.stopped(), isResumable });
  return { summary: summarise(tally), result: { ...tally, skipped: run.skipped() }, failure };
}

function* listNames(list: UserList): Generator<string> {
  for (const names of list.pages(PAGE)) yield* names;
}

/** A line for each answer that is different or missing. */
function describeFaults({ user, ...answers }: UserComparison): string[] {
  return (['profile', 'items'] as const).flatMap((lookup) => {
    const compared = answers[lookup];
    if (compared === null || !isFault(compared.class)) return [];
    return [`${brief(user)}: ${lookup} ${describe(compared)}`];
  });
}

function describe({ class: verdict, old: onOld, differences = [] }: AnswerComparison): string {
  if (verdict === 'missing') return `missing on the ${onOld === null ? 'old' : 'new'} site`;
  const members = differences.slice(0, MEMBERS_SHOWN).map(({ item, member, reason }) => {
    const name = item === undefined ? member : `${member} of ${brief(item)}`;
    return reason === undefined ? name : `${name} (${brief(reason, LONGEST_REASON)})`;
  });
  const more = differences.length - members.length;
  return `different: ${members.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** What a report is about: the first line of the file. */
interface ReportHead {
  readonly compare: { readonly old: string; readonly new: string; readonly variant: string };
}

type OnLine = (line: UserComparison) => void;

/** Hands over each line of an existing report. Without a file nothing is kept. */
async function openReport(file: string | undefined, head: ReportHead, onLine: OnLine) {
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
  let line = 1;
  await using handle = await open(file);
  for await (const text of handle.readLines()) {
    const next = end + Buffer.byteLength(text) + 1;
    if (end === 0 && !first.startsWith(text))
      throw new OutputError(`${file} is no report of comparing these sites: remove it, or name another file`);
    // A line that was being written when the run was killed has no end.
    if (next > stats.size) break;
    if (end > 0) onLine(readLine(text, `${file}:${line}`));
    end = next;
    line++;
  }
  return end;
}

function readLine(text: string, place: string): UserComparison {
  try {
    return JSON.parse(text);
  } catch {
    throw new OutputError(`${place} is not a line of a report: remove the line, or name another file`);
  }
}
