// What was measured as tables, for the terminal, the guide and the README.
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { CONNECTIONS, version, WRK } from './load.ts';
import { BY_HAND, RANDOM } from './lookups.ts';
import { type MeasuredRow, type Promised, ratio } from './measure.ts';

const ROOT = join(import.meta.dirname, '../..');
const PACKAGES = ['fastify', 'express', 'better-sqlite3', 'json-server'];

/** The machine, the versions and the method, and the tables. */
export function writeReport(
  rows: readonly MeasuredRow[],
  costs: readonly Promised[],
  { rounds, others }: { readonly rounds: number; readonly others: number },
): string {
  const nginx = /nginx\/\S+/.exec(version('nginx') ?? '')?.[0]?.replace('/', ' ');
  const packages = PACKAGES.map((name) => {
    const path = join(ROOT, 'node_modules', name, 'package.json');
    return `${name} ${JSON.parse(readFileSync(path, 'utf8')).version}`;
  });
  const about = [
    ['date', new Date().toISOString().slice(0, 10)],
    ['machine', `${cpus()[0]?.model.trim()}, ${cpus().length} cores`],
    ['CPU of other processes', `${(others * 100).toFixed(1)}%`],
    ['versions', [`Node ${process.version}`, ...packages, nginx].filter(Boolean).join(', ')],
    ['load', `${WRK}, ${CONNECTIONS} connections, best of ${rounds} interleaved rounds of 1 s`],
  ];
  const promises = costs.map(({ what, figure, atMost, unit }) => [
    ...[what, '', `${shown(figure, unit)} ${unit}`, `≤ ${atMost}`],
  ]);
  return [
    table(['measured', ''], about),
    ...(rows.length === 0 ? [] : [rowTable(rows)]),
    ...(costs.length === 0 ? [] : [table(['promise', '', 'figure', 'at most'], promises)]),
  ].join('\n\n');
}

/** A figure counts as it is shown. One that is no number is missed. */
export const describeMissed = (promises: readonly Promised[]) =>
  promises
    .filter(({ figure, atMost, unit }) => !(Number(shown(figure, unit)) <= atMost))
    .map(
      ({ what, figure, atMost, unit }) =>
        `MISSED ${what}: ${shown(figure, unit)} ${unit}, promised ≤ ${atMost}`,
    );

const shown = (figure: number, unit: Promised['unit']) => figure.toFixed(unit === '×' ? 2 : 1);

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_, column) => (column < 2 ? '---' : '---:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function rowTable(rows: readonly MeasuredRow[]): string {
  const cells = rows.map((row, index) => {
    const { rate, p99, cpu } = row.best;
    const texts = [
      ...[
        row.group === rows[index - 1]?.group ? '' : row.group,
        row.name,
        Math.round(rate).toLocaleString('en'),
        (p99 / 1000).toFixed(2),
      ],
      ...[cpuText(cpu), ratio(rows, row).toFixed(2)],
      row.atMost === undefined ? '' : `≤ ${row.atMost}`,
    ];
    return row.atMost === undefined ? texts : texts.map((text) => text && `**${text}**`);
  });
  return table(['', '', 'requests/s', 'p99 ms', 'CPU µs/request', '× the first', 'promised'], cells);
}

/** Writes the report into the guide and the headline into the README. */
export function publish(report: string, rows: readonly MeasuredRow[]): void {
  replaceBetweenMarkers('src/guides/promises.md', report);
  replaceBetweenMarkers('README.md', headline(rows));
}

/** Writes the table of sizes into the guide. */
export function publishScale(table: string): void {
  const about = `Measured on ${new Date().toISOString().slice(0, 10)} with ${cpus()[0]?.model.trim()}, ${cpus().length} cores, Node ${process.version}.`;
  replaceBetweenMarkers('src/guides/capacity.md', `${about}\n\n${table}`);
}

const [START, END] = ['<!-- bench:start -->', '<!-- bench:end -->'];

function replaceBetweenMarkers(name: string, text: string): void {
  const path = join(ROOT, name);
  const page = readFileSync(path, 'utf8');
  const [from, to] = [page.indexOf(START), page.indexOf(END)];
  if (from === -1 || to < from) throw new Error(`${name} does not have ${START} and ${END}`);
  writeFileSync(path, `${page.slice(0, from)}${START}\n${text}\n${page.slice(to)}`);
}

const cpuText = (cpu: number) => cpu.toFixed(cpu < 100 ? 1 : 0);

/** Every figure of it is in the guide's table. */
function headline(rows: readonly MeasuredRow[]): string {
  const items = rows.filter(({ group }) => group === '15 items');
  const [own, byHand] = [RANDOM, BY_HAND].map((name) => {
    const row = items.find((one) => one.name === name);
    return `${row === undefined ? Number.NaN : cpuText(row.best.cpu)} µs`;
  });
  return `A list of 15 items takes ${own} of CPU. The same server by hand, with Fastify, TypeBox and better-sqlite3, takes ${byHand}.`;
}
