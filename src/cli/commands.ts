// Every command: what it does, and its file, which is loaded when the command is named.
import type { Command } from 'commander';
import type { CommandContext } from './context.ts';

interface CommandEntry {
  readonly description: string;
  readonly load: () => Promise<{ readonly command: (context: CommandContext) => Command }>;
}

const entry = (description: string, load: CommandEntry['load']): CommandEntry => ({ description, load });

export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  serve: entry('answer HTTP requests from a database or from files', () => import('./serve.ts')),
  import: entry(
    'import records from files into the database: all of them, or none',
    () => import('./import.ts'),
  ),
  mirror: entry(
    'copy users from a live site of this kind, through its public API',
    () => import('./mirror.ts'),
  ),
  compare: entry(
    'ask two sites for the same users, and say where their answers differ',
    () => import('./compare.ts'),
  ),
  media: entry('copy the pictures that records name, and look after the copies', () => import('./media.ts')),
  export: entry(
    'write every record as NDJSON; importing that elsewhere gives the same answers',
    () => import('./export.ts'),
  ),
  changes: entry(
    'list the users whose answers changed since an earlier generation of the data',
    () => import('./changes.ts'),
  ),
  remove: entry('remove one user and all their items from the database', () => import('./remove.ts')),
  takedown: entry(
    'remove users or items for good: no import brings them back',
    () => import('./takedown.ts'),
  ),
  purge: entry(
    'purge from caches what changed since they were last purged, or everything',
    () => import('./purge.ts'),
  ),
  snapshot: entry(
    'write a compact copy of the database that can be served from read-only media',
    () => import('./snapshot.ts'),
  ),
  restore: entry(
    'put what a snapshot holds in the place of what the database holds, at once',
    () => import('./restore.ts'),
  ),
  migrate: entry('bring the database to the schema of this version', () => import('./migrate.ts')),
  check: entry(
    'read the whole database and say whether it is sound, and what it holds',
    () => import('./check.ts'),
  ),
  samples: entry('write sample users as NDJSON: any number, always the same', () => import('./samples.ts')),
  doctor: entry(
    'ask a public address as a front-end would; say what a proxy broke and how to mend it',
    () => import('./doctor.ts'),
  ),
  print: entry(
    'print a configuration of another program, made from the settings in force',
    () => import('./print.ts'),
  ),
  publish: entry('make a file of every answer, for a static host', () => import('./publish.ts')),
};
