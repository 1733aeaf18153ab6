// What an import changed, as a table for people.
import { KIND_NAMES, KINDS } from '../records/kinds.ts';
import type { Tallies } from '../stores/store.ts';

const COLUMNS = ['new', 'changed', 'unchanged', 'removed'] as const;
const GAP = 2;

export function summary(tallies: Tallies): string {
  const hasTakedowns = KIND_NAMES.some((kind) => tallies[kind].takenDown > 0);
  const columns = hasTakedowns ? ([...COLUMNS, 'takenDown'] as const) : COLUMNS;
  const kinds = KIND_NAMES.filter((kind) => columns.some((column) => tallies[kind][column] > 0));
  const rows = kinds.map((kind) => [
    KINDS[kind].plural,
    ...columns.map((column) => String(tallies[kind][column])),
  ]);
  const titles = ['', ...COLUMNS, ...(hasTakedowns ? ['taken down'] : [])];
  const table = [titles, ...rows];
  const widths = titles.map((_, column) => Math.max(...table.map((row) => (row[column] as string).length)));
  const [first = 0, ...others] = widths;
  return table
    .map(([title = '', ...cells]) => {
      const numbers = cells.map((cell, index) => cell.padStart((others[index] as number) + GAP));
      return title.padEnd(first) + numbers.join('');
    })
    .join('\n');
}
