// Removes the copies of pictures that a takedown leaves without a record.
import { existsSync } from 'node:fs';
import { CommandFailed } from '../../stores/command-errors.ts';

/** Removes copies that no record names any more. Without a folder it is the operator who must. */
export function createRemoval(folder: string | undefined) {
  let files = 0;
  return {
    async remove(names: readonly string[]): Promise<void> {
      if (names.length === 0) return;
      const wanted = `name the folder of the copies of pictures by MEDIA_DIR: ${names.length} must be removed`;
      if (folder === undefined) throw new CommandFailed(wanted);
      if (!existsSync(folder)) throw new CommandFailed(`${folder} does not exist: ${wanted}`);
      const { createMediaFolder } = await import('../../stores/media-folder.ts');
      const copies = createMediaFolder(folder);
      for (const name of names) if (await copies.remove(name)) files++;
    },
    count: () => files,
  };
}
