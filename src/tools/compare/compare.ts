// The compare command: asks two sites for the users of a list, and says where their answers differ.

import { createReport, type Terminal } from '../../import/terminal.ts';
import { brief } from '../../records/printable.ts';
import { openLines } from '../../stores/output.ts';
import { VARIANTS, type Variant } from '../../variants.ts';
import { createRun } from '../remote/each.ts';
import { createHosts, type HostFlags } from '../remote/host.ts';
import { createSiteClient } from '../remote/site-client.ts';
import { listUsers, type UserList, type UserSource } from '../remote/user-list.ts';
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
  using shown = createReport(options.out);
  using list = await listUsers(options.users, shown.fault, signal);
  const total = list.total();
  const tally = newTally();
  tally.failed = list.invalid();
  const run = createRun({ report: shown, doing: 'comparing', noun: 'users', signal, total: list.size() });
  using report =
    options.report === undefined
      ? undefined
      : openLines(options.report, 'file' in options.users ? [options.users.file] : []);
  report?.add(JSON.stringify({ compare: { old: old.href, new: other.href, variant } }));
  using hosts = createHosts({ ...options, signal: run.signal, userAgent: 'vitrine-compare' });
  const pictures = { hosts, sites: [old, other], named: options.pictureHosts ?? [], signal: run.signal };
  const sites = {
    variant: VARIANTS[variant],
    oldSite: createSiteClient(hosts, old, variant),
    newSite: createSiteClient(hosts, other, variant),
    pictures: createPictureClient(pictures),
  };
  await run.each(
    [userNames(list)],
    options.concurrency,
    async (user) => {
      const line = await compareUser(user, sites);
      report?.add(JSON.stringify(line));
      addUser(tally, line);
      for (const text of describeFaults(line)) shown.fault(text);
    },
    () => void tally.failed++,
  );
  report?.commit();
  const failure = describeFailure(tally, total, run.stopped());
  return { summary: summarise(tally), result: tally, failure };
}

function* userNames(list: UserList): Generator<string> {
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
