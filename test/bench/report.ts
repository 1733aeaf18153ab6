// What was measured as tables: for the terminal, the guide and the README.
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { CONNECTIONS, version, WRK } from './load.ts';
import { BARE, BY_HAND, RANDOM } from './lookups.ts';
import { type MeasuredRow, type Promised, ratio } from './measure.ts';

const ROOT = join(import.meta.dirname, '../..');
const PACKAGES = ['fastify', 'express', 'better-sqlite3', 'json-server'];

/** The machine, the versions and the method. */
export function about(rounds: number, seconds: number, others: number): string[] {
  const processors = cpus();
  const nginx = /nginx\/\S+/.exec(version('nginx', '-v') ?? '')?.[0]?.replace('/', ' ');
  const packages = PACKAGES.map((name) => {
    const path = join(ROOT, 'node_modules', name, 'package.json');
    return `${name} ${JSON.parse(readFileSync(path, 'utf8')).version}`;
  });
  const share = (others * 100).toFixed(1);
  return [
    `${new Date().toISOString().slice(0, 10)}: ${processors[0]?.model.trim()}, ${processors.length} cores; other processes used ${share}% of the CPU`,
    [`Node ${process.version}`, ...packages, nginx].filter(Boolean).join(', '),
    `${WRK}, ${CONNECTIONS} connections, best of ${rounds} interleaved rounds of ${seconds} s`,
  ];
}

/** A figure counts as it is shown. One that is no number is missed. */
export const isMissed = ({ figure, atMost, unit }: Promised) => !(Number(shown(figure, unit)) <= atMost);

const shown = (figure: number, unit: Promised['unit']) => figure.toFixed(unit === '×' ? 2 : 1);

/** Every promise in a line; the last column says which are missed. */
export function promiseTable(promises: readonly Promised[]): string {
  const cells = promises.map((promise) => [
    promise.what,
    `${shown(promise.figure, promise.unit)} ${promise.unit}`,
    `≤ ${promise.atMost}`,
    isMissed(promise) ? 'MISSED' : '',
  ]);
  const rows = [['what', 'figure', 'promised', ''], ...cells];
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  return rows
    .map(([what = '', figure = '', bound = '', missed = '']) =>
      `${what.padEnd(width(0))}  ${figure.padStart(width(1))}  ${bound.padStart(width(2))}  ${missed}`.trimEnd(),
    )
    .join('\n');
}

const markdownTable = (head: readonly string[], rows: readonly (readonly string[])[]) => {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  const rule = head.map((_, column) => (column < 2 ? '---' : '---:'));
  return line(head) + line(rule) + rows.map(line).join('');
};

/** For the guide: everybody's row. */
export function rowTable(rows: readonly MeasuredRow[]): string {
  const milliseconds = (microseconds: number) => (microseconds / 1000).toFixed(2);
  const cells = rows.map((row) => {
    const { rate, p99, cpu } = row.best;
    const texts = [
      ...[row.group, row.name, Math.round(rate).toLocaleString('en'), milliseconds(p99)],
      ...[cpu.toFixed(cpu < 100 ? 1 : 0), ratio(rows, row, row.base, 'cpu').toFixed(2)],
      row.atMost === undefined ? '' : `≤ ${row.atMost}`,
    ];
    return row.atMost === undefined ? texts : texts.map((text) => `**${text}**`);
  });
  const head = ['', '', 'requests/s', 'p99 ms', 'CPU µs/request', '× the first', 'promised'];
  return markdownTable(head, cells);
}

const [START, END] = ['<!-- bench:start -->', '<!-- bench:end -->'];

/** Writes the tables into the guide and the headline into the README; `root` has them where the repository does. */
export function publish(
  heading: readonly string[],
  rows: readonly MeasuredRow[],
  promises: readonly Promised[],
  root = ROOT,
): void {
  const others = promises.map((promise) => [
    ...[promise.what, '', `${shown(promise.figure, promise.unit)} ${promise.unit}`, `≤ ${promise.atMost}`],
  ]);
  const guide = [
    ...[`${heading.map((line) => `${line}  `).join('\n')}`, rowTable(rows)],
    markdownTable(['promise', '', 'figure', 'at most'], others),
  ].join('\n\n');
  replaceBetweenMarkers(join(root, 'src/guides/benchmark.md'), guide.trim());
  replaceBetweenMarkers(join(root, 'README.md'), headline(rows));
}

function replaceBetweenMarkers(path: string, text: string): void {
  const page = readFileSync(path, 'utf8');
  const [from, to] = [page.indexOf(START), page.indexOf(END)];
  if (from === -1 || to < from) throw new Error(`${path} does not have ${START} and ${END}`);
  writeFileSync(path, `${page.slice(0, from)}${START}\n${text}\n${page.slice(to)}`);
}

/** Every figure of it is in the guide's table. */
function headline(rows: readonly MeasuredRow[]): string {
  const items = rows.filter(({ group }) => group === '15 items');
  const times = (name: string) => {
    const row = items.find((one) => one.name === name);
    return row === undefined ? 'NaN ×' : `${ratio(items, row, BARE, 'cpu').toFixed(2)} ×`;
  };
  return `CPU per request for a list of 15 items, relative to a constant response from bare \`node:http\`: ${times(RANDOM)} with Vitrine, ${times(BY_HAND)} for Fastify with TypeBox and better-sqlite3, written by hand.`;
}
