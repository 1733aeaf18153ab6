// The other parts of a long run, each a program of its own: their sentences for the guide, and the bounds they miss.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { watchOthers } from './other-processes.ts';

export interface Part {
  readonly sentences: readonly string[];
  /** The lines that start with `missed: `. */
  readonly missed: readonly string[];
  readonly others: number | undefined;
}

/** The arguments of each part, for data in a folder. */
export function partsOf(folder: string): [name: string, ...args: string[]][] {
  // Only root can empty the page cache.
  const cold = process.getuid?.() === 0 ? ['--cold'] : [];
  return [
    ['size', '--data', folder, ...cold],
    ['start'],
    ['import', '--items', '1500000', '--folder', folder],
    ['workers', '--data', folder],
  ];
}

/** Runs one part and shows what it prints. */
export async function runPart(name: string, ...args: string[]): Promise<Part> {
  const others = watchOthers();
  const file = join(import.meta.dirname, `${name}.ts`);
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (!line.startsWith('missed: ')) console.log(line);
  }
  const [code] = await closed;
  const missed = lines.filter((line) => line.startsWith('missed: '));
  if (code !== 0 && missed.length === 0) missed.push(`missed: ${name}: exited with ${code}`);
  const sentences = lines.filter((line) => line.startsWith('- ')).map((line) => line.slice(2));
  return { sentences, missed, others: others() };
}
