// An Instagram export in JSON -> variants B and C.

export const files = /(^|\/)(posts_\d+|(?<!threads\/)personal_information)\.json$/;
export const lists = ['profile_user'];

// The members of the profile are named in the language of the account.
const LABELS = {
  username: ['Username', 'Nombre de usuario', 'Nome utente', "Nom d'utilisateur", 'Benutzername'],
  name: ['Name', 'Nombre', 'Nome', 'Nom'],
  bio: ['Bio', 'Biography', 'Biografía', 'Biografia'],
};

let profile;
let folder;
const posts = [];

export default (object, kit) => {
  // The archive is named instagram-NAME-DATE-….
  folder ??= /(?:^|\/)instagram-([\w.]+)-\d{4}-\d\d-\d\d/.exec(kit.file())?.[1];
  if (object.string_map_data) profile = object;
  else if (object.media?.length) posts.push(shotOf(object, kit));
};

/** The export writes each byte of UTF-8 as a character of its own. */
const mended = (text = '') => Buffer.from(text, 'latin1').toString();

const isVideo = ({ uri }) => /\.(mp4|mov)$/i.test(uri);

function shotOf({ media, ...post }, kit) {
  // A post of one picture has its text and time there.
  const text = mended(post.title ?? media[0].title);
  return {
    id: kit.id(media[0].uri),
    date: kit.date(post.creation_timestamp ?? media[0].creation_timestamp),
    title: text.split('\n')[0].replace(/(\s*#[\p{L}\p{N}_]+)+\s*$/u, ''),
    description: text,
    tags: Array.from(text.matchAll(/#([\p{L}\p{N}_]+)/gu), ([, tag]) => tag),
    image: kit.media(media.find((one) => !isVideo(one))?.uri),
    attachment: kit.media(media.find(isVideo)?.uri),
    status: 1,
  };
}

// Of personal_information.json only what is public is read: with labels in an unknown language, no name and no text.
export const end = (kit) => {
  const { string_map_data: texts = {}, media_map_data: pictures = {} } = profile ?? {};
  const members = Object.entries(texts).map(([label, { value }]) => [mended(label), mended(value)]);
  const find = (labels) => members.find(([label]) => labels.includes(label))?.[1];
  const username = kit.user() ?? find(LABELS.username) ?? folder;
  if (username === undefined) throw new Error('the export does not say whose it is: give --export-user NAME');
  const user = {
    totalShots: posts.length,
    id: kit.id(username),
    username,
    name: find(LABELS.name),
    bio: find(LABELS.bio),
    website: members.find(([, value]) => /^https?:\/\//.test(value))?.[1],
    avatar: kit.media(Object.values(pictures)[0]?.uri),
  };
  return [user, ...posts.map((post) => ({ ...post, user_id: user.id }))];
};
