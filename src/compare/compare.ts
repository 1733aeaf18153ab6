// The compare command: asks two sites for the users of a list, and says where their answers differ.
import type { Terminal } from '../files/terminal.ts';
import { brief } from '../records/printable.ts';
import { createSiteClient, type SiteOptions } from '../remote/site-client.ts';
import { listUsers, type UserList, type UserSource } from '../remote/user-list.ts';
import { createRun, createRunReport, type Run, share } from '../runs/each.ts';
import { VARIANTS } from '../variants.ts';
import { createPictureClient } from './pictures.ts';
import { openReport } from './report-file.ts';
import { compareUser } from './user.ts';
import {
  type AnswerComparison,
  addUser,
  describeFailure,
  isFault,
  newTally,
  summarise,
  type Tally,
  type UserComparison,
} from './verdicts.ts';

/** The flags of the command that are passed on as they are. */
export interface CompareFlags extends Omit<SiteOptions, 'base' | 'userAgent' | 'signal'> {
  /** The path of the report. */
  readonly report?: string;
  readonly pictureHosts?: readonly string[];
}

export interface CompareOptions extends CompareFlags {
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
  using shown = createRunReport(options.out, 'comparing');
  using list = await listUsers(options.users, shown.fault, options.signal);
  const total = list.total();
  if (total === 0) return { summary: '', result: null, failure: 'the list of users is empty' };
  const tally = newTally();
  tally.failed = list.invalid();
  const run = createRun({ report: shown, signal: options.signal, total: list.size() });
  const head = { compare: { old: options.old.href, new: options.new.href, variant: options.variant } };
  using report = await openReport(options.report, head, (line) => {
    if (!list.remove(line.user)) return;
    run.skip(1);
    addUser(tally, line);
  });
  await compareUsers(list, run, options, tally, (line) => {
    report.add(line);
    addUser(tally, line);
    for (const text of describeFaults(line)) shown.fault(text);
  });
  const isResumable = options.report !== undefined;
  const failure = describeFailure(tally, { total, stopped: run.stopped(), isResumable });
  return { summary: summarise(tally), result: { ...tally, skipped: run.skipped() }, failure };
}

async function compareUsers(
  list: UserList,
  run: Run,
  options: CompareOptions,
  tally: Tally,
  add: (line: UserComparison) => void,
): Promise<void> {
  const { old, new: other, pictureHosts: hosts = [] } = options;
  const timeout = options.timeout * 1000;
  const asked = { ...options, signal: run.signal, timeout, userAgent: 'vitrine-compare' };
  using oldSite = createSiteClient({ ...asked, base: old });
  using newSite = createSiteClient({ ...asked, base: other });
  using pictures = createPictureClient({ ...asked, hosts, sites: [oldSite, newSite] });
  const sites = { variant: VARIANTS[options.variant], oldSite, newSite, pictures };
  await run.each(
    share(listNames(list), options.concurrency),
    async (user) => add(await compareUser(user, sites)),
    () => void tally.failed++,
  );
}

function* listNames(list: UserList): Generator<string> {
  for (const names of list.pages(PAGE)) yield* names;
}

/** A line for each answer that is different or missing. */
function describeFaults({ user, profile, items }: UserComparison): string[] {
  const answers = [
    ['profile', profile],
    ['items', items],
  ] as const;
  return answers.flatMap(([lookup, compared]) =>
    compared !== null && isFault(compared.class) ? [`${brief(user)}: ${lookup} ${describe(compared)}`] : [],
  );
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
