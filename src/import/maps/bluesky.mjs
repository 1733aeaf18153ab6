// A Bluesky repository (Settings, Export my data), unpacked by `goat repo unpack repo.car` -> variant A.

export const files = /(^|\/)(_commit|app\.bsky\.(feed\.post|graph\.follow|actor\.profile)\/[^/]+)\.json$/;

let did;
let profile = {};
const posts = [];
let following = 0;

export default (record, kit) => {
  if (record.did && record.sig) ({ did } = record);
  if (record.$type === 'app.bsky.actor.profile') profile = record;
  if (record.$type === 'app.bsky.graph.follow') following++;
  // The key of a record is the name of its file.
  if (record.$type === 'app.bsky.feed.post') posts.push({ ...record, key: kit.file().split('/').at(-1) });
};

/** The address of a picture or film at Bluesky's own hosts. */
const picture = (preset, blob) => {
  const cid = blob?.ref?.$link;
  return cid && `https://cdn.bsky.app/img/${preset}/plain/${did}/${cid}@jpeg`;
};

function postOf({ key, text, facets, embed, createdAt }, kit) {
  const media = embed?.media ?? embed;
  const film = media?.video?.ref?.$link;
  return {
    id: kit.id(`at://${did}/app.bsky.feed.post/${key.replace(/\.json$/, '')}`),
    user: kit.id(did),
    date: kit.date(createdAt),
    post_details: withLinks(text, facets),
    photo: picture('feed_fullsize', media?.images?.[0]?.image),
    video_url: film && `https://video.bsky.app/watch/${encodeURIComponent(did)}/${film}/playlist.m3u8`,
    status: 1,
    status_general: 1,
  };
}

/** Links are shortened in the text; the facets hold them whole, with places in bytes. */
function withLinks(text, facets = []) {
  let bytes = Buffer.from(text);
  for (const { index, features } of facets.toSorted(
    (one, other) => other.index.byteStart - one.index.byteStart,
  )) {
    const { uri } = features.find(({ $type }) => $type === 'app.bsky.richtext.facet#link') ?? {};
    if (uri !== undefined)
      bytes = Buffer.concat([
        bytes.subarray(0, index.byteStart),
        Buffer.from(uri),
        bytes.subarray(index.byteEnd),
      ]);
  }
  return bytes.toString();
}

export const end = (kit) => {
  if (did === undefined) throw new Error('_commit.json is missing, which says whose repository it is');
  const avatar = picture('avatar', profile.avatar);
  const cover = picture('banner', profile.banner);
  const user = {
    totalPost: posts.length,
    totalFollowing: following,
    id: kit.id(did),
    // The repository does not hold the handle.
    username: kit.user() ?? did,
    name: profile.displayName,
    bio: profile.description,
    website: profile.website,
    avatar,
    avatar_large: avatar,
    cover_image: cover,
    cover_large: cover,
  };
  return [user, ...posts.map((post) => postOf(post, kit))];
};
