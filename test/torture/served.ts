// A server beside something that changes its file: each answer must be that of before or that of after, and never of before again.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ask, type Environment, type Server, startServer } from '../rig.ts';

const PATHS = [
  ...['/b/api/username/user3', '/b/api/username/user3/shots', '/a/api/?user=user3', '/a/api/?user=user8'],
  ...['/people/b/user3', '/feeds/a/user3.json'],
];

export interface Known {
  readonly old: readonly string[];
  /** After the command; after several at once, of each order. */
  readonly done: readonly (readonly string[])[];
  readonly between?: readonly (readonly string[])[];
}

const answersOf = (server: Pick<Server, 'port'>) =>
  Promise.all(PATHS.map(async (path) => ask(server, path).then(({ status, body }) => `${status} ${body}`)));

/** What a server of this database answers. */
export async function readAnswers(database: string): Promise<string[]> {
  const server = await startServer({ DATABASE_URL: database });
  const answers = await answersOf(server);
  await server.stop();
  return answers;
}

/** Starts a server, and notes what is wrong with its answers, a sentence each. */
export async function startWatched({ old, done, between = [] }: Known, env: Environment, mayFail = false) {
  const server = await startServer(env);
  const wrong = new Set<string>();
  const hasChanged = PATHS.map(() => false);
  let last: readonly string[] = [];
  return {
    wrong,
    async look(): Promise<void> {
      last = await answersOf(server);
      for (const [index, answer] of last.entries()) {
        if (mayFail && /^50[03] /.test(answer)) continue;
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
export async function runBeside<T>(url: string, runCommand: () => Promise<T>, known: Known) {
  const { wrong, look, isLast, stop } = await startWatched(known, { DATABASE_URL: url });
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
  await stop();
  return { ran, wrong: [...wrong], isOld: isLast(known.old), isNew: known.done.some(isLast) };
}
