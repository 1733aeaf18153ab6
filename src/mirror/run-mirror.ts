// The mirror command: opens what a run needs, runs it, and says how it went.
import { rmSync } from 'node:fs';
import type { Terminal } from '../files/terminal.ts';
import { createSiteClient, type SiteOptions } from '../remote/site-client.ts';
import { listUsers, type UserSource } from '../remote/user-list.ts';
import { createVisitReport, type VisitReport } from '../runs/report.ts';
import type { Archive } from '../stores/archive.ts';
import type { Awaitable, Reader } from '../stores/reader.ts';
import { openScratch, type SqliteFile } from '../stores/sqlite/scratch-file.ts';
import type { TakedownList } from '../stores/takedowns.ts';
import { createTakedownFilter } from '../stores/takedowns.ts';
import type { Writer } from '../stores/writer.ts';
import { VARIANTS } from '../variants.ts';
import { createLocalData } from './local-data.ts';
import { mirrorFailure, mirrorSummary } from './mirror-report.ts';
import { type MirrorResult, mirrorUsers } from './mirror-users.ts';
import { createNotes } from './notes.ts';
import { openState } from './state-file.ts';

/** The flags of the command that are passed on as they are. */
export interface MirrorFlags extends Omit<SiteOptions, 'base' | 'userAgent' | 'signal'> {
  readonly from: URL;
  readonly prune: boolean;
  readonly adopt: boolean;
  readonly restart: boolean;
}

export interface MirrorRun extends MirrorFlags {
  readonly users: UserSource;
  /** The path of the state file. */
  readonly state: string;
  readonly writer: Writer;
  readonly openReader: () => Awaitable<Reader>;
  readonly openArchive: () => Awaitable<Archive>;
  readonly out: Terminal;
  readonly signal: AbortSignal;
}

export interface MirrorOutcome {
  readonly summary?: string;
  readonly result?: MirrorResult;
  readonly failure?: string | undefined;
}

export async function runMirror(run: MirrorRun): Promise<MirrorOutcome> {
  const state = openState(run.state);
  const scratch = openScratch(run.state);
  const report = createVisitReport(run.out, 'visiting');
  try {
    return await runWith(run, state, scratch, report);
  } finally {
    report.close();
    scratch.close();
    rmSync(scratch.name, { force: true });
    state.close();
  }
}

async function runWith(
  run: MirrorRun,
  state: SqliteFile,
  scratch: SqliteFile,
  report: VisitReport,
): Promise<MirrorOutcome> {
  const { from, variant, signal, openReader, openArchive } = run;
  const list = await listUsers(run.users, scratch, report.fault, signal);
  const total = list.size() + list.faults();
  if (total === 0) return { failure: 'the list of users is empty' };
  const { family } = VARIANTS[variant];
  const notes = createNotes(state, `${variant} ${from.href}`, run.restart);
  const takedowns = await readTakedowns(openReader);
  const isTakenDown = createTakedownFilter(takedowns, family);
  if (takedowns.entries.length > 0)
    notes.erase(({ userKey, id }) => isTakenDown('name', userKey) || (id !== null && isTakenDown('id', id)));
  const local = createLocalData({ family, openReader, openArchive, scratch, brought: notes.brought, signal });
  const site = createSiteClient({
    ...run,
    base: from,
    userAgent: 'vitrine-mirror',
    timeout: run.timeout * 1000,
  });
  try {
    const events = { onProgress: report.progress, onFault: report.fault };
    const result = await mirrorUsers({ ...run, ...events, family, site, list, local, notes, isTakenDown });
    const failure = mirrorFailure(result, { total, unusable: list.faults() });
    return { summary: mirrorSummary(result), result, failure };
  } finally {
    site.close();
  }
}

/** Who was taken down before this run. Whom a takedown meets later, the store leaves out. */
async function readTakedowns(openReader: MirrorRun['openReader']): Promise<TakedownList> {
  const reader = await openReader();
  try {
    return await reader.takedowns();
  } finally {
    await reader.close();
  }
}
