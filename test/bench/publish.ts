// Writes what was measured into the guide, the plot and the README.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BARE, BY_HAND, READY } from './contenders.ts';
import { plot } from './plot.ts';
import { markdown, tails } from './report.ts';
import { type Measured, ratioTo } from './sampling.ts';

export interface Published {
  readonly about: readonly string[];
  readonly rows: readonly Measured[];
  /** What the other parts of the benchmark found, a sentence each. */
  readonly sentences: readonly string[];
}

const [START, END] = ['<!-- bench:start -->', '<!-- bench:end -->'];
const ROOT = join(import.meta.dirname, '../..');

/** `root` has the README, the guide and the plot where the repository has them. */
export function publish(found: Published, root = ROOT): void {
  writeFileSync(join(root, 'test/bench/requests.svg'), plot(found.rows));
  replaceBetweenMarkers(join(root, 'src/guides/benchmark.md'), guideText(found));
  replaceBetweenMarkers(join(root, 'README.md'), headline(found.rows));
}

function replaceBetweenMarkers(path: string, text: string): void {
  const page = readFileSync(path, 'utf8');
  const [from, to] = [page.indexOf(START), page.indexOf(END)];
  if (from === -1 || to < from) throw new Error(`${path} does not have ${START} and ${END}`);
  writeFileSync(path, `${page.slice(0, from)}${START}\n${text}\n${page.slice(to)}`);
}

function guideText({ about, rows, sentences }: Published): string {
  return `![Requests per second of one core's time, by server](../../test/bench/requests.svg)

${about.map((line) => `${line}  `).join('\n')}

${markdown(rows)}
On the same machine:

${[...tails(rows), ...sentences].map((sentence) => `- ${sentence}`).join('\n')}`;
}

/** Every figure of it is in the guide's table. */
function headline(rows: readonly Measured[]): string {
  const items = rows.filter(({ group }) => group === 'items');
  const ratio = (name: string) => {
    const row = items.find((one) => one.name.startsWith(name)) as Measured;
    return `${ratioTo(items, row, BARE, 'cpu').toFixed(2)} ×`;
  };
  return `CPU per request for a list of 15 items, relative to a constant response from bare \`node:http\`: ${ratio(READY)} when it is in memory, ${ratio('Vitrine, random')} when it is read from the database; ${ratio(BY_HAND)} for Fastify with TypeBox and better-sqlite3, written by hand.`;
}
