// A server beside something that changes its file: each answer must be that of before or that of after, and never of before again.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ask } from '../support/http.ts';
import type { Environment } from '../support/run.ts';
import { type Server, startServer } from '../support/server.ts';
import { until } from '../support/stress.ts';

const PATHS = [
  ...['/b/api/username/user3', '/b/api/username/user3/shots', '/a/api/?user=user3', '/a/api/?user=user8'],
  '/c/api/username/user2',
  ...['/people/b/user3', '/feeds/a/user3.json'],
];

export interface Known {
  readonly old: readonly string[];
  /** After the command; after several at once, of each order. */
  readonly done: readonly (readonly string[])[];
  readonly between?: readonly (readonly string[])[];
}

const answersOf = (server: Pick<Server, 'port'>) => Promise.all(PATHS.map((path) => answerOf(server, path)));

/** The command runs in this process too. While that is busy, a request may be sent too late, so it is repeated once. */
async function answerOf(server: Pick<Server, 'port'>, path: string): Promise<string> {
  const first = await ask(server, path);
  const { status, body } = first.status === 408 ? await ask(server, path) : first;
  return `${status} ${body}`;
}

/** What a server answers. */
export async function readAnswers(env: Environment, args: readonly string[] = []): Promise<string[]> {
  const server = await startServer(env, args);
  const answers = await answersOf(server);
  await server.stop();
  return answers;
}

export interface ServerToWatch {
  readonly env: Environment;
  readonly args?: readonly string[];
  /** One of its calls fails: it may have no answer for a moment, but must have the new data soon after. */
  readonly isFailing?: boolean;
  /** Saves the served files once more, after an import of them that failed. */
  readonly saveAgain?: () => void;
}

/** Starts a server, and notes what is wrong with its answers, a sentence each. */
async function startWatched({ old, done, between = [] }: Known, { env, args, isFailing }: ServerToWatch) {
  const server = await startServer(env, args);
  const wrong = new Set<string>();
  const hasChanged = PATHS.map(() => false);
  let last: readonly string[] = [];
  return {
    wrong,
    log: server.log,
    async look(): Promise<void> {
      last = await answersOf(server);
      for (const [index, answer] of last.entries()) {
        if (isFailing && /^50[03] /.test(answer)) continue;
        const isOneOf = (known: Known['done']) => known.some((answers) => answers[index] === answer);
        const isOld = answer === old[index];
        if (!isOld && !isOneOf(done) && !isOneOf(between))
          wrong.add(`the server answers ${PATHS[index]} with ${answer.slice(0, 200)}`);
        if (isOld && hasChanged[index] && !isOneOf(done))
          wrong.add(`the server goes back to old data at ${PATHS[index]}`);
        hasChanged[index] ||= !isOld;
      }
    },
    /** Whether the last look found all of these. */
    isLast: (known: readonly string[]) => known.every((answer, index) => answer === last[index]),
    async stop(): Promise<void> {
      const code = await server.stop();
      if (code !== 0) wrong.add(`the server ends with ${code}: ${server.log.slice(-3).join(' ')}`);
    },
  };
}

/** Runs the command while a server is asked; what was wrong with its answers, and which they are in the end. */
export async function runBeside<T>(server: ServerToWatch, runCommand: () => Promise<T>, known: Known) {
  const { wrong, log, look, isLast, stop } = await startWatched(known, server);
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      await look();
      await nextTurn();
    }
    await look();
  })().catch((error) => void wrong.add(`the server does not answer: ${(error as Error).message}`));
  const ran = await runCommand();
  isOver = true;
  await asking;
  let failed = 0;
  async function hasNew(): Promise<boolean> {
    await look();
    const count = log.filter((line) => line.includes('until the files are saved again')).length;
    if (count > failed) server.saveAgain?.();
    failed = count;
    return known.done.some(isLast);
  }
  if (server.isFailing)
    await until('the new data', hasNew).catch(({ message }) => wrong.add(`${message}: ${log.slice(-3)}`));
  await stop();
  return { ran, wrong: [...wrong], isOld: isLast(known.old), isNew: known.done.some(isLast) };
}
