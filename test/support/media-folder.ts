// Folders of copied pictures for tests, and fetches into them.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { copyPath, type Extension } from '../../src/records/copy-files.ts';
import { openWriter } from '../../src/stores/open.ts';
import { type FetchOptions, runFetch } from '../../src/tools/media/fetch.ts';
import { tempFolder } from './files.ts';
import { PACE } from './mirror-site.ts';

export const MEDIA_URL = 'https://new.example/media';

/** An image that runs a script if it may. */
export const SVG_WITH_SCRIPT =
  '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8"/><script>document.documentElement.setAttribute("data-ran", "")</script></svg>';

/** Every file in a folder of copies, but the unfinished ones. */
export const copiesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.includes('.') && !name.endsWith('.unfinished'))
    .sort();

/** Puts a file into a folder; returns its name. */
export function putCopy(folder: string, content: string | Buffer, extension: Extension = 'jpg'): string {
  const name = `${createHash('sha256').update(content).digest('hex')}.${extension}`;
  const path = join(folder, copyPath(name));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return name;
}

/** Fetches copies in this process, for databases of either kind. */
export async function fetchInto(store: string, hosts: readonly string[], run: Partial<FetchOptions> = {}) {
  let said = '';
  const { mediaDir = join(tempFolder(), 'media') } = run;
  await using writer = await openWriter(store);
  const outcome = await runFetch({
    mediaDir,
    mediaUrl: MEDIA_URL,
    mediaHosts: hosts,
    sites: [],
    writer,
    database: store,
    signal: new AbortController().signal,
    files: false,
    check: false,
    maxFile: 1 << 20,
    mediaQuota: 1 << 30,
    ...PACE,
    // On a busy machine it would show its progress.
    out: { isQuiet: true, write: (text: string) => (said += text) },
    ...run,
  });
  return { ...outcome, originals: outcome.result.originals, mediaDir, said };
}
