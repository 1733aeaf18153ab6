// The compare command: opens what a run needs, runs it, and says how it went.
import { accessSync, constants, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { asOutputErrors } from '../files/output.ts';
import type { Terminal } from '../files/terminal.ts';
import { createSiteClient, type SiteOptions } from '../remote/site-client.ts';
import { listUsers, type UserSource } from '../remote/user-list.ts';
import { createVisitReport, type VisitReport } from '../runs/report.ts';
import { openScratch, type SqliteFile } from '../stores/sqlite/scratch-file.ts';
import { VARIANTS } from '../variants.ts';
import { createUserComparer } from './compare-user.ts';
import { type CompareOptions, compareUsers } from './compare-users.ts';
import { createPictureClient } from './picture-client.ts';
import { openReport } from './report-file.ts';
import { addUser, failureOf, newTally, summaryOf, type Tally } from './tally.ts';

/** The flags of the command that are passed on as they are. */
export interface CompareFlags extends Omit<SiteOptions, 'base' | 'userAgent' | 'signal'> {
  /** The path of the report. */
  readonly report?: string;
  readonly restart: boolean;
  readonly pictureHosts?: readonly string[];
}

export interface CompareRun extends CompareFlags {
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

export async function runCompare(run: CompareRun): Promise<CompareOutcome> {
  const { report } = run;
  if (report !== undefined) asOutputErrors(report, () => accessSync(dirname(report), constants.W_OK));
  const scratch = openScratch(report ?? join(tmpdir(), 'vitrine-compare'));
  const shown = createVisitReport(run.out, 'comparing');
  try {
    return await runWith(run, scratch, shown);
  } finally {
    shown.close();
    scratch.close();
    rmSync(scratch.name, { force: true });
  }
}

async function runWith(run: CompareRun, scratch: SqliteFile, shown: VisitReport): Promise<CompareOutcome> {
  const { variant, restart } = run;
  const list = await listUsers(run.users, scratch, shown.fault, run.signal);
  const total = list.size() + list.faults();
  if (total === 0) return { failure: 'the list of users is empty' };
  const tally = newTally();
  tally.failed = list.faults();
  let skipped = 0;
  const report = await openReport(
    run.report,
    { compare: { old: run.old.href, new: run.new.href, variant } },
    {
      restart,
      onLine(line) {
        if (!list.remove(line.user)) return;
        skipped++;
        addUser(tally, line);
      },
    },
  );
  const events = { onUser: report.add, onProgress: shown.progress, onFault: shown.fault };
  try {
    const stopped = await askBoth(run, { ...run, ...events, list, tally, skipped });
    const failure = failureOf(tally, { total, stopped, resumable: run.report !== undefined });
    return { summary: summaryOf(tally), result: { ...tally, skipped }, failure };
  } finally {
    report.close();
  }
}

async function askBoth(
  run: CompareRun,
  options: Omit<CompareOptions, 'compare'>,
): Promise<string | undefined> {
  const asked = { ...run, timeout: run.timeout * 1000, userAgent: 'vitrine-compare' };
  const oldSite = createSiteClient({ ...asked, base: run.old });
  const newSite = createSiteClient({ ...asked, base: run.new });
  const pictures = createPictureClient({
    ...asked,
    hosts: run.pictureHosts ?? [],
    sites: [
      { base: run.old, pace: oldSite.pace },
      { base: run.new, pace: newSite.pace },
    ],
  });
  try {
    const compare = createUserComparer({ variant: VARIANTS[run.variant], oldSite, newSite, pictures });
    return await compareUsers({ ...options, compare });
  } finally {
    pictures.close();
    oldSite.close();
    newSite.close();
  }
}
