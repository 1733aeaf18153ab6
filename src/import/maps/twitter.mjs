// An archive of Twitter or X -> variant A.

export const files = /(^|\/)(account|profile|tweets?(-part\d+)?|follow(er|ing)(-part\d+)?)\.js$/;

let account;
let profile = {};
const tweets = [];
const counts = { follower: 0, following: 0 };

export default (object, kit) => {
  if (object.account) account = object.account;
  if (object.profile) profile = object.profile;
  if (object.follower) counts.follower++;
  if (object.following) counts.following++;
  // Deleted posts are in the archive as well. RT begins those of others.
  const { tweet } = object;
  if (tweet && !tweet.deleted_at && !tweet.full_text.startsWith('RT @')) tweets.push(makePost(tweet, kit));
};

/** The name of a file at an address; none for what is no address. */
const fileName = (url) =>
  URL.parse(url ?? '')
    ?.pathname.split('/')
    .at(-1);

function makePost(tweet, kit) {
  const media = tweet.extended_entities?.media ?? tweet.entities?.media ?? [];
  const photo = media.find(({ type }) => type === 'photo');
  const video = media.find(({ video_info }) => video_info);
  const mediaFile = (url) => {
    const name = fileName(url);
    return name && kit.media(`data/tweets_media/${tweet.id_str}-${name}`);
  };
  return {
    id: tweet.id_str,
    date: kit.date(tweet.created_at),
    post_details: readText(tweet, media, kit),
    photo: mediaFile(photo?.media_url_https),
    video_url: mediaFile(video && bestVariant(video)),
    status: 1,
    status_general: 1,
  };
}

/** The archive holds the variant with the highest bit rate. */
const bestVariant = ({ video_info: { variants } }) =>
  variants.toSorted((one, other) => Number(other.bitrate ?? -1) - Number(one.bitrate ?? -1))[0]?.url;

/** With the addresses that t.co stands for, and without those of pictures. */
function readText({ full_text: text, entities }, media, kit) {
  const links = [...(entities?.urls ?? []), ...media.map(({ url }) => ({ url, expanded_url: '' }))];
  const whole = links.reduce((now, { url, expanded_url }) => now.replaceAll(url, expanded_url ?? url), text);
  // Only & < > are escaped.
  return whole
    .split('\n')
    .map((line) => kit.text(line))
    .join('\n')
    .trim();
}

export const end = (kit) => {
  if (account === undefined) throw new Error('account.js is missing, which says whose archive it is');
  const { bio, website, location } = profile.description ?? {};
  const mediaFile = (url) => {
    const name = fileName(url);
    return name && kit.media(`data/profile_media/${account.accountId}-${name}`);
  };
  const avatar = mediaFile(profile.avatarMediaUrl);
  const cover = mediaFile(profile.headerMediaUrl);
  const user = {
    totalPost: tweets.length,
    totalFollowers: counts.follower,
    totalFollowing: counts.following,
    id: account.accountId,
    username: account.username,
    name: account.accountDisplayName,
    location,
    website,
    bio,
    avatar,
    avatar_large: avatar,
    cover_image: cover,
    cover_large: cover,
  };
  return [user, ...tweets.map((tweet) => ({ ...tweet, user: account.accountId }))];
};
