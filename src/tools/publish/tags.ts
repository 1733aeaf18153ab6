// The tag of a user: changes when a file of theirs may. A run makes the files of a user again when the tag is another one than
// that in the manifest.
import { serverUrl } from '../../config/addresses.ts';
import { findMediaFolder, findMediaUrl } from '../../config/media.ts';
import { VERSION } from '../../config/package-files.ts';
import { listMounts } from '../../config/settings.ts';
import { createPictureReader, picturesTag } from '../../pages/people/page-pictures.ts';
import { describeSettings } from '../../pages/people/person-replies.ts';
import { computeEtag } from '../../records/etag.ts';
import type { Family } from '../../records/kinds.ts';
import type { UserEntry } from '../../stores/reader.ts';
import type { PublishRun } from './run.ts';
import { listShown } from './targets.ts';

export function createTagger(run: PublishRun) {
  const { store, config, without } = run;
  const settings = computeEtag(describeShape(run));
  const showsItems = listShown(config, without).length > 0;
  const readPictures = createPictureReader(config, store);

  /** `known` is the tag of the last run: of what has not changed, the store reads the ETag only. */
  return async (
    family: Family,
    collections: readonly string[],
    { key, etag }: Pick<UserEntry, 'key' | 'etag'>,
    known: string,
  ): Promise<string> => {
    const etags = [etag];
    for (const collection of collections)
      etags.push((await store.items(family, key, collection, { known }))?.etag ?? '');
    const others = [settings];
    if (showsItems)
      for await (const { text, ids } of readTexts(run, family, key))
        others.push(computeEtag(text + ids), ...picturesTag(await readPictures(text)));
    return [...etags, computeEtag(others.join())].join(' ');
  };
}

/** As many as stand on a page, which looks up the pictures of all. */
const ITEMS_AT_ONCE = 30;

/** What the pages of a user show: the profile and all items, as they are served. */
async function* readTexts({ store }: PublishRun, family: Family, key: string) {
  for (let from: string | undefined = ''; from !== undefined; ) {
    const next = { ...(from && { from, skip: 1 }), limit: ITEMS_AT_ONCE };
    const history = await store.history(family, key, next);
    const items = history?.items ?? [];
    const profile = from === '' ? String(history?.profile.body) : '';
    yield { text: profile + items.map(({ record }) => record).join(), ids: items.map(({ id }) => id).join() };
    from = items.at(-1)?.id;
  }
}

/** All that shapes the files of users, besides their data: the templates, which are those of this version, and the settings. */
function describeShape({ config, platform, without }: PublishRun): string {
  return JSON.stringify([
    VERSION,
    platform,
    [...without].sort(),
    config.explorer,
    listMounts(config),
    serverUrl(config),
    findMediaUrl(config),
    findMediaFolder(config),
    describeSettings(config),
  ]);
}
