// The four records and the bodies that carry them, member by member as the specification lists them. Each rule for a
// member stands here and nowhere else: `normalise` and the routes compile these schemas.
import { FormatRegistry, type TObject, type TString, Type } from '@sinclair/typebox';
import { ITEM_CAP, type KindName } from './kinds.ts';
import { UserName } from './user-name.ts';

/** What a member's text means. */
export type Form = 'text' | 'list' | 'name' | 'count' | 'flag' | 'id' | 'url' | 'date-time' | 'token';

export interface Member extends TString {
  'x-form': Form;
  description: string;
  /** Stands for an absent member. A member without a default is required. */
  default?: string;
}

const member = (form: Form, description: string, rules: object = {}) =>
  // The options are spread into the schema, which TypeBox's type does not tell.
  Type.String({ ...rules, description, 'x-form': form }) as Member;

// The specification writes an absent optional value as an empty string, so every optional member allows that.
const DIGITS = '^[0-9]{0,40}$';
const DATE_TIME =
  '0000-00-00 00:00:00|[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]) (?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]';
const HTTP_URL =
  '^(?:[Hh][Tt][Tt][Pp][Ss]?://[^/\\s\\u0000-\\u001F\\u007F-\\u009F][^\\s\\u0000-\\u001F\\u007F-\\u009F]*)?$';

/** The value of a date-time member when there is no date. */
export const ZERO_DATE = '0000-00-00 00:00:00';

export const LARGEST_ID = String(2n ** 63n - 1n);
/** What the schema of an id says; the format is registered here. */
export const ID = { pattern: '^[1-9][0-9]{0,18}$', format: 'positive-int64' };
const PLAIN_ID = new RegExp(ID.pattern);

// What a regular expression cannot express, or only slowly.
FormatRegistry.Set('positive-int64', fitsInt64);
FormatRegistry.Set('http-url', isUrl);
FormatRegistry.Set('calendar-date-time', hasRealDay);

function fitsInt64(digits: string): boolean {
  return digits.length < LARGEST_ID.length || (digits.length === LARGEST_ID.length && digits <= LARGEST_ID);
}

/** Whether a text is the id of a user or an item. */
export const isId = (text: string) => PLAIN_ID.test(text) && fitsInt64(text);

function hasRealDay(text: string): boolean {
  if (text.startsWith('0000')) return text === ZERO_DATE;
  const day = text.slice(8, 10);
  return day <= '28' || Number(day) <= lastDay(Number(text.slice(0, 4)), Number(text.slice(5, 7)));
}

/** `Date` reads years below 100 as 19xx; the calendar repeats every 400 years. */
function lastDay(year: number, month: number): number {
  return new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
}

const PLAIN_URL = /^https?:\/\/(?:[a-z0-9-]+\.)+[a-z]{2,}(?:\/[\w\-.~!$&'()*+,;=:@/%?]*)?$/;

/** Most URLs match the expression, which costs a tenth of URL.canParse. An absent link is an empty string. */
function isUrl(text: string): boolean {
  return text === '' || PLAIN_URL.test(text) || URL.canParse(text);
}

const text = (description: string) => member('text', description, { default: '' });
const list = (description: string) => member('list', description, { default: '' });
const count = (description: string) => member('count', description, { pattern: DIGITS, default: '0' });
const flag = (description: string) => member('flag', description, { pattern: DIGITS, default: '0' });
const id = (description: string) => member('id', description, ID);
const userName = (description: string) => member('name', description, UserName);
const url = (description: string) =>
  member('url', description, { pattern: HTTP_URL, format: 'http-url', default: '' });
const token = (description: string) =>
  member('token', description, { pattern: '^(?:[0-9a-f]{40})?$', default: '' });
const dateTime = (description: string) =>
  member('date-time', description, { pattern: `^(?:${DATE_TIME})$`, format: 'calendar-date-time' });
const optionalDateTime = (description: string) =>
  member('date-time', description, {
    pattern: `^(?:${DATE_TIME})?$`,
    format: 'calendar-date-time',
    default: ZERO_DATE,
  });

export const MicroblogProfile = Type.Object(
  {
    totalFollowers: count('Number of followers.'),
    totalFollowing: count('Number of accounts followed.'),
    totalFavs: count('Number of favourites.'),
    totalPost: count('Number of posts.'),
    id: id('User identifier.'),
    username: userName('The user name.'),
    name: text('Display name.'),
    location: text('Free-text location.'),
    country: text('Short lowercase country code.'),
    website: url("User's web link."),
    bio: text('Free-text biography.'),
    avatar: url('Avatar image.'),
    avatar_large: url('Large avatar image.'),
    verified: flag(
      'Verification flag, as the site set it: usually `1` when the account is verified; `0` when it set none.',
    ),
    cover_image: url('Cover image.'),
    cover_large: url('Large cover image.'),
  },
  { $id: 'MicroblogProfile', title: 'Microblog profile', description: 'A profile of the microblog family.' },
);

export const Post = Type.Object(
  {
    id: id('Record identifier.'),
    token_id: token('Opaque identifier of the post.'),
    post_details: text('Text of the post.'),
    photo: url('Attached photo.'),
    video_code: text('Identifier of an attached video at its host.'),
    video_title: text('Title of the attached video.'),
    video_site: text('Lowercase name of the video host.'),
    video_url: url('Link to the video.'),
    user: id('Identifier of the owning user.'),
    status: flag('Record status flag, as the site set it; `0` when it set none.'),
    video_thumbnail: url('Thumbnail of the video.'),
    date: dateTime('Creation time, in UTC.'),
    status_general: flag('General status flag, as the site set it; `0` when it set none.'),
    url_audio: url('Link to attached audio; empty string when none.'),
    title_audio: text('Title of attached audio; empty string when none.'),
    thumbnail_song: url('Audio thumbnail; empty string when none.'),
  },
  { $id: 'Post', title: 'Post', description: 'A post of the microblog family.' },
);

export const PortfolioProfile = Type.Object(
  {
    totalFollowers: count('Number of followers.'),
    totalFollowing: count('Number of accounts followed.'),
    Likes: count('Number of likes.'),
    totalShots: count('Number of shots.'),
    Lists: count('Number of lists.'),
    Listed: count('Number of lists the user is on.'),
    Projects: count('Number of projects.'),
    id: id('User identifier.'),
    username: userName('The user name.'),
    name: text('Display name.'),
    location: text('Free-text location.'),
    social_link: url("Link to the user's social-network page."),
    website: url("User's web link."),
    bio: text('Free-text biography.'),
    skills: list('Comma-separated list of skill words.'),
    avatar: url('Avatar image.'),
    type_account: flag('Account type code, as the site set it; `0` when it set none.'),
    cover_image: url('Cover image.'),
  },
  { $id: 'PortfolioProfile', title: 'Portfolio profile', description: 'A profile of the portfolio family.' },
);

export const Shot = Type.Object(
  {
    id: id('Record identifier.'),
    id_project: count('Project identifier; "0" when the shot belongs to no project.'),
    created_project: optionalDateTime(
      `Project creation time, in UTC; ${ZERO_DATE} when there is no project.`,
    ),
    image: url('Shot image.'),
    large_image: url('Large shot image.'),
    token_id: token('Opaque identifier of the shot.'),
    description: text('Free-text description.'),
    title: text('Title.'),
    user_id: id('Identifier of the owning user.'),
    status: flag('Record status flag, as the site set it; `0` when it set none.'),
    tags: list('Comma-separated list of tags.'),
    date: dateTime('Creation time, in UTC.'),
    attachment: url('Attached file.'),
    url_purchased: url('Purchase link; empty string when none.'),
    price_item: text('Price, as the site wrote it, without a currency of its own; empty string when none.'),
  },
  { $id: 'Shot', title: 'Shot', description: 'A shot of the portfolio family.' },
);

export const SCHEMAS = {
  'microblog profile': MicroblogProfile,
  post: Post,
  'portfolio profile': PortfolioProfile,
  shot: Shot,
} as const satisfies Record<KindName, TObject>;

/** The members of each kind, by their names. */
export const MEMBERS: Readonly<Record<KindName, Readonly<Record<string, Member>>>> = {
  'microblog profile': MicroblogProfile.properties,
  post: Post.properties,
  'portfolio profile': PortfolioProfile.properties,
  shot: Shot.properties,
};

const NAMES = Object.values(MEMBERS).flatMap((members) => Object.keys(members));
const MEMBER_NAMES = new Map(
  NAMES.flatMap((name) => [
    [name, name],
    [name.toLowerCase(), name],
  ]),
);

/** The member that is meant, whatever the case of its letters; PostgreSQL makes `totalshots` of `AS totalShots`. */
export const memberName = (name: string): string =>
  MEMBER_NAMES.get(name) ?? MEMBER_NAMES.get(name.toLowerCase()) ?? name;

/** The body of an item list: one member, named by the variant. */
export const itemsBody = ($id: string, collection: string, item: TObject) =>
  Type.Object(
    { [collection]: Type.Array(item, { maxItems: ITEM_CAP }) },
    { $id, description: `The newest ${ITEM_CAP} items, newest first; empty when there are none.` },
  );
