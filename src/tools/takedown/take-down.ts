// Takes down users and items. What clients see changes first. Then come the copies of pictures that no record names any more,
// and what is left of deleted data in unused space, which may take minutes.
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Config } from '../../config/settings.ts';
import { createReport, describeCount, type Terminal } from '../../import/terminal.ts';
import type { Family } from '../../records/kinds.ts';
import { counted } from '../../records/printable.ts';
import { errorMessage } from '../../records/thrown.ts';
import { userKey } from '../../records/user-name.ts';
import { StoreError } from '../../stores/errors.ts';
import { findHostsBehind } from '../../stores/open.ts';
import { type Stdout, writeToStdout } from '../../stores/output.ts';
import type { Change } from '../../stores/sql/changes.ts';
import type { TakedownList, TakedownState, TakedownSubject } from '../../stores/sql/takedowns.ts';
import type { Writer } from '../../stores/writer.ts';
import { createRemoval } from '../media/removal.ts';
import { changedAddresses } from '../notify/addresses.ts';
import { listUsers } from '../remote/user-list.ts';

export interface TakedownRun {
  readonly writer: Writer & { readonly hasSubscribers: boolean };
  /** What the writer writes to. */
  readonly database: string;
  /** The folder of copies of pictures. */
  readonly mediaDir: string | undefined;
  readonly config: Config;
  readonly stderr: Terminal;
}

/** The steps of a takedown. */
export function createTakedownRun({ writer, database, mediaDir, config, stderr }: TakedownRun) {
  const copies = createRemoval(mediaDir);
  const keepNames = writer.hasSubscribers;
  /** With the addresses that caches may still answer, if none is purged. */
  const withAddresses = <T extends { changes: readonly Change[] }>({ changes, ...removed }: T) => ({
    ...removed,
    addresses: keepNames ? [] : changes.flatMap((change) => changedAddresses(config, change)),
  });
  return {
    takeDown: async (subjects: readonly TakedownSubject[]) =>
      withAddresses(await writer.takeDown(subjects, { keepNames })),
    adoptTakedowns: async (list: TakedownList) => ({
      ...withAddresses(await writer.adoptTakedowns(list, { keepNames })),
      states: undefined,
    }),
    async cleanUp() {
      using shown = createReport(stderr);
      shown.step('removed; now waiting for all hosts of the database');
      const behind = await findHostsBehind(database);
      const left = await writer
        .cleanUp(copies.remove, (step, share) => shown.step(`removed; now ${step}`, share))
        .catch((error: Error) => `${error.message.replace(/\.$/, '')}.`);
      const note = left === undefined ? await writer.describeTraces() : undefined;
      return {
        pictures: copies.count(),
        behind,
        notes: [
          ...(behind.length === 0 ? [] : [describeBehind(behind)]),
          ...(note === undefined ? [] : [note]),
        ],
        failure: left && `the takedown is done, but ${left} Run the command again when that has changed.`,
      };
    },
  };
}

const describeBehind = (hosts: readonly string[]) =>
  `not there yet: ${hosts.join(', ')}. Until then, servers that ask no other host show what was taken down. ` +
  'If one of these hosts takes over before, run the command again.';

export const removedLine = ({ users, items, pictures }: { users: number; items: number; pictures: number }) =>
  `removed ${counted(users, 'user')} and ${counted(items, 'item')}${pictures === 0 ? '' : `, and ${counted(pictures, 'picture')}`}`;

/** Users whose takedown is one change of the data. */
const AT_ONCE = 1000;

const UNWRITTEN = 'these addresses may be missing from standard output, and the next run does not know them:';

interface ListRun extends TakedownRun {
  readonly family: Family;
  readonly file: string;
  /** Let imports bring them again. */
  readonly undo: boolean;
  readonly stdin: AsyncIterable<Buffer>;
  readonly stdout: Stdout;
  readonly stopSignal: () => AbortSignal;
}

/** Takes down, or allows again, the users of a list, a part of it at a time. */
export async function takeDownList(run: ListRun) {
  const { writer, family, file, undo, stdin, stderr, stopSignal } = run;
  const signal = stopSignal();
  using shown = createReport(stderr);
  using list = await listUsers({ file, stdin }, shown.fault, signal);
  const removal = createTakedownRun(run);
  const sum = { removed: 0, unknown: 0, known: 0, users: 0, items: 0 };
  let done = 0;
  const describeStop = () => `stopped after ${done} of ${list.size()} users: run the command again`;

  async function changePart(names: readonly string[]): Promise<void> {
    const subjects = names.map((name) => ({ family, kind: 'user', value: userKey(name) }) as const);
    if (undo) {
      for (const isKnown of await writer.undoTakedowns(subjects)) sum[isKnown ? 'known' : 'unknown']++;
      done += names.length;
      return;
    }
    const { states, users, items, addresses } = await removal.takeDown(subjects);
    done += names.length;
    for (const state of states) sum[state]++;
    sum.users += users;
    sum.items += items;
    // Before the next part: the database does not know the names any more.
    const lines = addresses.map((address) => `${address}\n`);
    await writeToStdout(Readable.from(lines), run.stdout).catch((error) => {
      stderr.write(`${UNWRITTEN}\n${lines.join('')}`);
      throw error;
    });
  }

  for (const names of list.pages(AT_ONCE)) {
    // A signal arrives between two turns of the event loop only.
    await nextTurn();
    if (signal.aborted) break;
    await changePart(names).catch((error) => {
      // The parts before are done.
      throw done === 0
        ? error
        : new StoreError(`${errorMessage(error).replace(/\.$/, '')}; ${describeStop()}`);
    });
    shown.step('going through the list', done / list.size(), describeCount(done, list.size(), 'users'));
  }
  const faults = [
    list.invalid() > 0 && `${counted(list.invalid(), 'line')} of the list cannot be the name of a user`,
    done < list.size() && describeStop(),
  ].filter((fault) => fault !== false);
  if (undo) {
    const { known, unknown } = sum;
    const lines = [`the next import may bring ${counted(known, 'user')} again`];
    if (unknown > 0) lines.push(`not taken down: ${counted(unknown, 'user')}`);
    return { summary: lines.join('\n'), result: { known, unknown }, failure: faults.join('; ') || undefined };
  }
  const { pictures, behind, notes, failure } = await removal.cleanUp();
  const result = { ...sum, pictures, behind, invalid: list.invalid() };
  return {
    summary: [...describeStates(sum), removedLine(result), ...notes].join('\n'),
    result,
    failure: [...faults, failure].filter(Boolean).join('; ') || undefined,
  };
}

function describeStates({ removed, unknown, known }: Record<TakedownState, number>): string[] {
  return [
    removed > 0 && `took down ${counted(removed, 'user')}`,
    unknown > 0 && `not here, and skipped by imports: ${counted(unknown, 'user')}`,
    known > 0 && `taken down before: ${counted(known, 'user')}`,
  ].filter((line) => line !== false);
}
