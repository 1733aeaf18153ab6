// Opens a database for a command that writes to it. One of an earlier version is migrated first, which takes minutes if it is large: that
// is shown, and a signal ends the process at once, because SQLite works within calls in which no handler is run.
import { openWriter, type WriterOptions } from '../stores/open.ts';
import { showSteps, type Terminal } from './terminal.ts';

interface MigratingProcess {
  readonly stderr: Terminal;
  readonly whileEndedBySignal: <T>(action: () => Promise<T>) => Promise<T>;
}

export const openShown = (
  url: string,
  { stderr, whileEndedBySignal }: MigratingProcess,
  options: Omit<WriterOptions, 'onStep'> = {},
) =>
  whileEndedBySignal(() =>
    showSteps(stderr, (onStep) =>
      openWriter(url, { ...options, onStep: (step, share) => onStep(`migrating: ${step}`, share) }),
    ),
  );
