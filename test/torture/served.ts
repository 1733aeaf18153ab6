// A server beside a command: each of its answers must be that of before or that of after, and never of before again.
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ask, type Ran, startServer } from '../rig.ts';

const PATHS = [
  '/b/api/username/user3',
  '/b/api/username/user3/shots',
  '/a/api/?user=user3',
  '/a/api/?user=user8',
];

const answersOf = (server: { readonly port: number }) =>
  Promise.all(PATHS.map(async (path) => ask(server, path).then(({ status, body }) => `${status} ${body}`)));

/** What a server of this folder answers. */
export async function readAnswers(folder: string): Promise<string[]> {
  const server = await startServer({ DATABASE_URL: join(folder, 'site.db') });
  const answers = await answersOf(server);
  await server.stop();
  return answers;
}

interface Known {
  readonly old: readonly string[];
  readonly done: readonly string[];
}

/** Runs the command while a server is asked; what was wrong with its answers, and which they are in the end. */
export async function runBeside<T extends Ran>(
  folder: string,
  runCommand: () => Promise<T>,
  { old, done }: Known,
) {
  const server = await startServer({ DATABASE_URL: join(folder, 'site.db') });
  const wrong = new Set<string>();
  const seen = PATHS.map(() => false);
  let isOver = false;
  let last: readonly string[] = [];
  const look = async () => {
    const answers = await answersOf(server);
    for (const [index, answer] of answers.entries()) {
      if (answer !== old[index] && answer !== done[index])
        wrong.add(`the server answers ${PATHS[index]} with ${answer.slice(0, 200)}`);
      if (seen[index] && answer !== done[index])
        wrong.add(`the server goes back to old data at ${PATHS[index]}`);
      seen[index] ||= answer === done[index] && answer !== old[index];
    }
    last = answers;
  };
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
  const code = await server.stop();
  if (code !== 0) wrong.add(`the server ends with ${code}: ${server.log.slice(-3).join(' ')}`);
  const isLast = (known: readonly string[]) => known.every((answer, index) => answer === last[index]);
  return { ran, wrong: [...wrong], isOld: isLast(old), isNew: isLast(done) };
}
