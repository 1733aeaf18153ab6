// The compare command: asks two sites for the users of a list, and says where their answers differ.
import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import { asOutputErrors } from '../files/output.ts';
import type { Terminal } from '../files/terminal.ts';
import { brief } from '../records/printable.ts';
import { createSiteClient, type SiteOptions } from '../remote/site-client.ts';
import { listUsers, type UserList, type UserSource } from '../remote/user-list.ts';
import { createRun, type Run, share } from '../runs/each.ts';
import { createRunReport, type RunReport } from '../runs/report.ts';
import { openScratch } from '../stores/sqlite/connect.ts';
import { VARIANTS } from '../variants.ts';
import { createPictureClient } from './pictures.ts';
import { openReport, type ReportFile } from './report-file.ts';
import { createUserComparer, type UserComparer } from './user.ts';
import {
  addUser,
  type Compared,
  type ComparedUser,
  describeFailure,
  isFault,
  newTally,
  summarise,
  type Tally,
} from './verdicts.ts';

/** The flags of the command that are passed on as they are. */
export interface CompareFlags extends Omit<SiteOptions, 'base' | 'userAgent' | 'signal'> {
  /** The path of the report. */
  readonly report?: string;
  readonly restart: boolean;
  readonly pictureHosts?: readonly string[];
}

export interface CompareOptions extends CompareFlags {
  readonly old: URL;
  readonly new: URL;
  readonly users: UserSource;
  readonly out: Terminal;
  readonly signal: AbortSignal;
}

export interface CompareOutcome {
  readonly summary?: string;
  readonly result?: Tally & { readonly skipped: number };
  readonly failure?: string | undefined;
}

const BATCH = 1000;
const MEMBERS_SHOWN = 5;
const LONGEST_REASON = 200;

export async function runCompare(options: CompareOptions): Promise<CompareOutcome> {
  const { report } = options;
  if (report !== undefined) asOutputErrors(report, () => accessSync(dirname(report), constants.W_OK));
  const scratch = openScratch();
  const shown = createRunReport(options.out, 'comparing');
  try {
    const list = await listUsers(options.users, scratch, shown.fault, options.signal);
    if (list.size() + list.faults() === 0) return { failure: 'the list of users is empty' };
    return await compareList(list, shown, options);
  } finally {
    shown.close();
    scratch.close();
  }
}

async function compareList(
  list: UserList,
  shown: RunReport,
  options: CompareOptions,
): Promise<CompareOutcome> {
  const total = list.size() + list.faults();
  const tally = newTally();
  tally.failed = list.faults();
  const run = createRun({ report: shown, signal: options.signal, total: list.size() });
  const head = { compare: { old: options.old.href, new: options.new.href, variant: options.variant } };
  const report = await openReport(options.report, head, {
    restart: options.restart,
    onLine(line) {
      if (!list.remove(line.user)) return;
      run.skip(1);
      addUser(tally, line);
    },
  });
  try {
    await compareUsers(list, run, tally, report, shown, options);
  } finally {
    report.close();
  }
  const resumable = options.report !== undefined;
  const failure = describeFailure(tally, { total, stopped: run.stopped(), resumable });
  return { summary: summarise(tally), result: { ...tally, skipped: run.skipped() }, failure };
}

async function compareUsers(
  list: UserList,
  run: Run,
  tally: Tally,
  report: ReportFile,
  shown: RunReport,
  options: CompareOptions,
): Promise<void> {
  const { compare, close } = createClients(run, options);
  try {
    await run.each(
      share(namesOf(list), options.concurrency),
      async (user) => {
        const line = await compare(user);
        report.add(line);
        addUser(tally, line);
        for (const text of describeFaults(line)) shown.fault(text);
      },
      () => void tally.failed++,
    );
  } finally {
    close();
  }
}

function createClients(
  { signal }: Run,
  options: CompareOptions,
): { readonly compare: UserComparer; readonly close: () => void } {
  const asked = { ...options, signal, timeout: options.timeout * 1000, userAgent: 'vitrine-compare' };
  const oldSite = createSiteClient({ ...asked, base: options.old });
  const newSite = createSiteClient({ ...asked, base: options.new });
  const pictures = createPictureClient({
    ...asked,
    hosts: options.pictureHosts ?? [],
    sites: [
      { base: options.old, pace: oldSite.pace },
      { base: options.new, pace: newSite.pace },
    ],
  });
  return {
    compare: createUserComparer({ variant: VARIANTS[options.variant], oldSite, newSite, pictures }),
    close() {
      for (const client of [pictures, oldSite, newSite]) client.close();
    },
  };
}

function* namesOf(list: UserList): Generator<string> {
  for (const names of list.batches(BATCH)) yield* names;
}

/** A line for each answer that is different or missing. */
function describeFaults({ user, profile, items }: ComparedUser): string[] {
  const answers = [
    ['profile', profile],
    ['items', items],
  ] as const;
  return answers.flatMap(([lookup, compared]) =>
    compared !== null && isFault(compared.class) ? [`${brief(user)}: ${lookup} ${describe(compared)}`] : [],
  );
}

function describe({ class: verdict, old: onOld, differences = [] }: Compared): string {
  if (verdict === 'missing') return `missing on the ${onOld === null ? 'old' : 'new'} site`;
  const members = differences.slice(0, MEMBERS_SHOWN).map(({ item, member, reason }) => {
    const name = item === undefined ? member : `${member} of ${brief(item)}`;
    return reason === undefined ? name : `${name} (${brief(reason, LONGEST_REASON)})`;
  });
  const more = differences.length - members.length;
  return `different: ${members.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
