// Opens a database for a command that writes to it. One of an earlier version is migrated first, which takes minutes if it is large.
import { StoreError } from '../stores/errors.ts';
import { openWriter, type WriterOptions } from '../stores/open.ts';
import { showSteps, type Terminal } from './terminal.ts';

interface ShownOptions extends Omit<WriterOptions, 'onStep'> {
  /** Ends a migration, which then changes nothing. Without it, the process must not handle signals yet. */
  readonly signal?: AbortSignal;
}

/** Shows how far a migration is. */
export const openShown = (url: string, out: Terminal, { signal, ...options }: ShownOptions = {}) =>
  showSteps(out, (onStep) =>
    openWriter(url, {
      ...options,
      onStep(step, share) {
        if (signal?.aborted)
          throw new StoreError('stopped while the database was migrated: nothing was changed');
        onStep(`migrating: ${step}`, share);
      },
    }),
  );
