// Generates users and their items for the benchmark: any number, always the same ones, in the order of their dates.
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';

export type Raw = Record<string, string>;

/** A prime: unless it divides the number of users, each gets an item before anyone gets a second one. */
const STRIDE = 7919;

export const nameOf = (user: number) => `user${user}`;

/** All profiles, then all items by date: as many for each user, and the users mixed. */
export function* people(users: number, itemsPerUser: number, make: Makers = MICROBLOG): Generator<Raw> {
  for (let user = 1; user <= users; user++) yield make.profile(user, itemsPerUser);
  let id = 0;
  for (let round = 0; round < itemsPerUser; round++) {
    for (let turn = 0; turn < users; turn++) {
      const user = users % STRIDE === 0 ? turn + 1 : ((turn * STRIDE) % users) + 1;
      yield make.item(++id, user);
    }
  }
}

/** Writes them as NDJSON. */
export const writePeople = (
  path: string,
  users: number,
  itemsPerUser: number,
  make?: Makers,
): Promise<void> => writeRecords(path, people(users, itemsPerUser, make));

/** The records of one family. */
interface Makers {
  readonly profile: (user: number, items: number) => Raw;
  readonly item: (id: number, user: number) => Raw;
}

export async function writeRecords(path: string, records: Iterable<Raw>): Promise<void> {
  const out = createWriteStream(path);
  for (const record of records) if (!out.write(`${JSON.stringify(record)}\n`)) await once(out, 'drain');
  await finished(out.end());
}

const TOPICS = [
  'The light was good today, and we walked along the river until it rained.',
  'New drawing: a harbour at night, ink and a little blue.',
  'Does anybody know a quiet place to read near the old station?',
  'Vi åkte spårvagn hela vägen till havet och tillbaka igen.',
  'Sketches for the poster, third round; the type is still too loud.',
  'Bread, coffee, and a long letter to answer.',
];
const PLACES = ['Lisbon', 'Göteborg', 'Kraków', 'Osaka', 'Montréal', 'Porto Alegre', 'Nairobi'];
const COUNTRIES = ['pt', 'se', 'pl', 'jp', 'ca', 'br', 'ke'];
const BIO = 'I write about maps, trains and the quiet hours of the morning in old towns.';

const pick = (list: readonly string[], number: number) => list[number % list.length] as string;

const timeOf = (id: number) =>
  new Date(Date.UTC(2012, 0, 1) + id * 97_000).toISOString().slice(0, 19).replace('T', ' ');

/** Forty hexadecimal digits, cheaper than a hash. */
const tokenOf = (id: number) =>
  [1, 2, 3, 4, 5]
    .map((part) => (Math.imul(id ^ (part * 0x9e3779b9), 0x85ebca6b) >>> 0).toString(16).padStart(8, '0'))
    .join('');

const makeProfile = (user: number, items: number): Raw => ({
  totalFollowers: String((user * 31) % 4801),
  totalFollowing: String((user * 17) % 997),
  totalFavs: String(user % 331),
  totalPost: String(items),
  id: String(user),
  username: nameOf(user),
  name: `User Number ${user}`,
  location: pick(PLACES, user),
  country: pick(COUNTRIES, user),
  website: user % 3 === 0 ? `https://people.example.org/${user}` : '',
  bio: user % 4 === 0 ? '' : BIO,
  avatar: `https://img.example.org/avatar/${user}.jpg`,
  avatar_large: `https://img.example.org/avatar/large/${user}.jpg`,
  verified: user % 50 === 0 ? '1' : '0',
  cover_image: `https://img.example.org/cover/${user}.jpg`,
  cover_large: `https://img.example.org/cover/large/${user}.jpg`,
});

function makePost(id: number, user: number): Raw {
  const film = (text: string) => (id % 9 === 0 ? text : '');
  return {
    id: String(id),
    token_id: tokenOf(id),
    post_details: pick(TOPICS, id),
    photo: id % 2 === 0 ? `https://img.example.org/photo/${id}.jpg` : '',
    video_code: film(`v${id}`),
    video_title: film(`Film ${id}`),
    video_site: film('vimeo'),
    video_url: film(`https://video.example.org/${id}`),
    user: String(user),
    status: '1',
    video_thumbnail: film(`https://img.example.org/video/${id}.jpg`),
    date: timeOf(id),
    status_general: '1',
    url_audio: '',
    title_audio: '',
    thumbnail_song: '',
  };
}

const SKILLS = [
  'illustration',
  'lettering',
  'type design',
  'photography',
  'ceramics',
  'printmaking',
  'wood cut',
];
const SHAPES = ['800x600', '600x800', '900x900'];

const makePortfolio = (user: number, items: number): Raw => ({
  totalFollowers: String((user * 31) % 4801),
  totalFollowing: String((user * 17) % 997),
  Likes: String(user % 331),
  totalShots: String(items),
  Lists: '0',
  Listed: '0',
  Projects: '0',
  id: String(user),
  username: nameOf(user),
  name: `User Number ${user}`,
  location: pick(PLACES, user),
  social_link: `https://social.example.org/${user}`,
  website: user % 3 === 0 ? `https://people.example.org/${user}` : '',
  bio: user % 4 === 0 ? '' : BIO,
  skills: [0, 1, 2].map((step) => pick(SKILLS, user + step)).join(),
  avatar: `https://img.example.org/avatar/${user}.jpg`,
  type_account: '1',
  cover_image: `https://img.example.org/cover/${user}.jpg`,
});

const makeShot = (id: number, user: number): Raw => ({
  id: String(id),
  id_project: '0',
  created_project: '',
  image: `https://img.example.org/shot/${id}-${pick(SHAPES, id)}.jpg`,
  large_image: `https://img.example.org/shot/large/${id}-${pick(SHAPES, id)}.jpg`,
  token_id: tokenOf(id),
  description: pick(TOPICS, id),
  title: `${pick(PLACES, id)}, no. ${id}`,
  user_id: String(user),
  status: '1',
  tags: [0, 3].map((step) => pick(SKILLS, id + step)).join(),
  date: timeOf(id),
  attachment: '',
  url_purchased: '',
  price_item: id % 5 === 0 ? '45.00' : '',
});

const MICROBLOG: Makers = { profile: makeProfile, item: makePost };
export const PORTFOLIO: Makers = { profile: makePortfolio, item: makeShot };
