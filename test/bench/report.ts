// The measured rows as a table, for the terminal and for the guide.
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { shown } from './figures.ts';
import { CONNECTIONS, GENERATOR, versionOf } from './load.ts';
import { PINNED } from './processes.ts';
import { ABOUT, GROUPS, type Group } from './rows.ts';
import { type Measured, medianOf, othersShare, ratioTo } from './sampling.ts';

const PACKAGES = ['fastify', 'express', 'better-sqlite3', 'json-server'];

/** The machine, the versions and the method. */
export function about(rows: readonly Measured[], rounds: number, seconds: number): string[] {
  const processors = cpus();
  const pinning = PINNED ? 'server on one core, load on another' : 'not pinned';
  const nginx = /nginx\/\S+/.exec(versionOf('nginx', '-v') ?? '')?.[0]?.replace('/', ' ');
  const packages = PACKAGES.map((name) => `${name} ${installedVersion(name)}`);
  const others = othersShare(rows);
  const quiet =
    others === undefined
      ? 'not known what other processes used'
      : `other processes used ${percent(others)} of the CPU`;
  return [
    `${new Date().toISOString().slice(0, 10)}: ${processors[0]?.model.trim()}, ${processors.length} cores (${pinning}); ${quiet}`,
    [`Node ${process.version}`, ...packages, nginx].filter(Boolean).join(', '),
    `${GENERATOR}, ${CONNECTIONS} connections, median of ${rounds} interleaved rounds of ${seconds} s`,
  ];
}

export const percent = (share: number) => `${(share * 100).toFixed(1)}%`;

function installedVersion(name: string): string {
  const path = join(import.meta.dirname, '../../node_modules', name, 'package.json');
  return JSON.parse(readFileSync(path, 'utf8')).version;
}

const HEAD = ['requests/s', 'p50 ms', 'p99 ms', 'CPU µs/request'];
const headOf = (group: Group) => [...HEAD, `× ${ABOUT[group].base}`, 'promised'];

function cells(rows: readonly Measured[], row: Measured): string[] {
  const milliseconds = (microseconds: number) => (microseconds / 1000).toFixed(2);
  const cpu = medianOf(row, 'cpu');
  return [
    row.name,
    shown(medianOf(row, 'rate')),
    milliseconds(medianOf(row, 'p50')),
    milliseconds(medianOf(row, 'p99')),
    cpu.toFixed(cpu < 100 ? 1 : 0),
    ratioTo(rows, row, row.base, 'cpu').toFixed(2),
    row.promise === undefined ? '' : `≤ ${row.promise}`,
  ];
}

const inGroup = (rows: readonly Measured[], group: Group) => rows.filter((row) => row.group === group);

/** For a terminal: a block for each group. */
export function table(rows: readonly Measured[]): string {
  const groups = GROUPS.filter((group) => inGroup(rows, group).length > 0);
  const blocks = groups.map((group) => [
    [ABOUT[group].title, ...headOf(group)],
    ...inGroup(rows, group).map((row) => cells(rows, row)),
  ]);
  const widths = (blocks[0]?.[0] ?? []).map((_, column) =>
    Math.max(...blocks.flat().map((texts) => texts[column]?.length ?? 0)),
  );
  const line = (texts: readonly string[]) =>
    texts
      .map((text, column) =>
        column === 0 ? text.padEnd(widths[column] as number) : text.padStart(widths[column] as number),
      )
      .join('  ')
      .trimEnd();
  return blocks.map((block) => block.map(line).join('\n')).join('\n\n');
}

/** For the guide: a table for each base that ratios relate to. */
export function markdown(rows: readonly Measured[]): string {
  const bases = Object.groupBy(rows, ({ group }) => ABOUT[group].base);
  return Object.values(bases)
    .map((part) => markdownTable(rows, part as Measured[]))
    .join('\n');
}

function markdownTable(rows: readonly Measured[], part: readonly Measured[]): string {
  const line = (texts: readonly string[]) => `| ${texts.join(' | ')} |\n`;
  const lines = part.map((row) => {
    const texts = [ABOUT[row.group].title, ...cells(rows, row)];
    return line(row.name.startsWith('Vitrine') ? texts.map((text) => text && `**${text}**`) : texts);
  });
  const head = ['', '', ...headOf((part[0] as Measured).group)];
  const rule = head.map((_, column) => (column < 2 ? '---' : '---:'));
  return line(head) + line(rule) + lines.join('');
}

/** What is promised besides the ratios of the table. */
export function tails(rows: readonly Measured[]): string[] {
  return rows.flatMap((row) => {
    if (row.p99 === undefined) return [];
    const { of, atMost } = row.p99;
    const ratio = ratioTo(rows, row, of, 'p99').toFixed(2);
    return [
      `${ABOUT[row.group].title}, ${row.name}: p99 is ${ratio} times that of ${of} (promised: at most ${atMost}).`,
    ];
  });
}
