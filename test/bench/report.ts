// What was measured, for the terminal and for the README.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { GROUPS, type Group } from './contenders.ts';
import { versionOf } from './load.ts';
import { PINNED } from './processes.ts';

/** The medians of one row. */
export interface Figures {
  readonly group: Group;
  readonly name: string;
  readonly rate: number;
  /** Microseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly cpu: number;
  /** CPU per request against bare node:http in the same round. */
  readonly ratio: number;
  readonly promise?: number;
}

export const TITLES: Record<Group, string> = {
  items: '15 items',
  profile: 'profile',
  304: '304 Not Modified',
  404: '404 unknown user',
};

const PACKAGES = ['fastify', 'express', 'better-sqlite3', 'json-server'];

export interface Setup {
  readonly generator: string;
  readonly connections: number;
  readonly rounds: number;
  readonly seconds: number;
}

/** The machine, the versions and the way of measuring. */
export function machine({ generator, connections, rounds, seconds }: Setup): string[] {
  const require = createRequire(import.meta.url);
  const packages = PACKAGES.map(
    (name) =>
      `${name} ${JSON.parse(readFileSync(`${require.resolve.paths(name)?.find((path) => exists(`${path}/${name}/package.json`))}/${name}/package.json`, 'utf8')).version}`,
  );
  const nginx = /nginx\/\S+/.exec(versionOf('nginx', '-v') ?? '')?.[0]?.replace('/', ' ');
  const processors = cpus();
  const pinning = PINNED ? 'server on one core, load on another' : 'not pinned';
  return [
    `${new Date().toISOString().slice(0, 10)}: ${processors[0]?.model.trim()}, ${processors.length} cores (${pinning})`,
    [`Node ${process.version}`, ...packages, nginx].filter(Boolean).join(', '),
    `${generator}, ${connections} connections, median of ${rounds} interleaved rounds of ${seconds} s`,
  ];
}

const exists = (path: string) => {
  try {
    readFileSync(path);
    return true;
  } catch {
    return false;
  }
};

const HEAD = ['', 'requests/s', 'p50 ms', 'p99 ms', 'CPU µs/request', '× node:http', 'promised'];

function cells({ name, rate, p50, p99, cpu, ratio, promise }: Figures): string[] {
  const milliseconds = (microseconds: number) => (microseconds / 1000).toFixed(2);
  return [
    name,
    Math.round(rate).toLocaleString('en'),
    milliseconds(p50),
    milliseconds(p99),
    cpu.toFixed(cpu < 100 ? 1 : 0),
    ratio.toFixed(2),
    promise === undefined ? '' : `≤ ${promise}`,
  ];
}

/** For a terminal. */
export function table(figures: readonly Figures[]): string {
  const lines = figures.map((row) => ({ group: row.group, cells: cells(row) }));
  const widths = HEAD.map((head, column) =>
    Math.max(head.length, ...lines.map(({ cells }) => cells[column]?.length ?? 0)),
  );
  const line = (texts: readonly string[]) =>
    texts
      .map((text, column) =>
        column === 0 ? text.padEnd(widths[column] as number) : text.padStart(widths[column] as number),
      )
      .join('  ')
      .trimEnd();
  return Object.entries(Object.groupBy(lines, ({ group }) => group))
    .toSorted(([one], [two]) => order(one as Group) - order(two as Group))
    .map(([group, rows]) =>
      [line([TITLES[group as Group], ...HEAD.slice(1)]), ...rows.map(({ cells }) => line(cells))].join('\n'),
    )
    .join('\n\n');
}

const order = (group: Group) => GROUPS.indexOf(group);

export function markdown(about: readonly string[], figures: readonly Figures[]): string {
  const row = (texts: readonly string[]) => `| ${texts.join(' | ')} |`;
  const lines = figures.map((figure) => {
    const [name = '', ...rest] = cells(figure);
    const texts = [TITLES[figure.group], name, ...rest];
    return row(name.startsWith('Vitrine') ? texts.map((text) => text && `**${text}**`) : texts);
  });
  const head = ['', ...HEAD];
  const rule = head.map((_, column) => (column < 2 ? '---' : '---:'));
  return [...about.map((line) => `${line}  `), '', row(head), row(rule), ...lines, ''].join('\n');
}

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = [Math.floor, Math.ceil].map((round) => sorted[round((sorted.length - 1) / 2)] as number);
  return ((middle[0] as number) + (middle[1] as number)) / 2;
}
