// Removes users that the mirror brought and that the site does not know any more.
import type { MirrorOptions, Run } from './mirror-run.ts';

/** Nobody if the site has lost all of them. */
export async function pruneGone(anyoneKnown: boolean, options: MirrorOptions, run: Run): Promise<void> {
  const { family, notes, local, writer, signal, onFault } = options;
  if (!anyoneKnown) {
    onFault('the site knows none of these users, which may be a fault of the site: none is removed');
    return;
  }
  for (let gone = notes.gone(''); gone.length > 0; gone = notes.gone(gone.at(-1)?.userKey as string))
    for (const { userKey: key, id } of gone) {
      if (signal.aborted) {
        run.stopped = 'stopped';
        return;
      }
      // Somebody else may have the name by now.
      if ((await local.users([key])).get(key)?.id !== id) continue;
      if ((await writer.remove(family, key)) !== undefined) run.pruned++;
      notes.forget(key);
    }
}
