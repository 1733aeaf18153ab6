// Generates sample users and their items as NDJSON: any number, and the same bytes for the same seed on every machine. Only
// whole numbers, and fractions that each machine rounds alike, decide: no logarithm, no sort, no clock.

import type { Family } from '../../records/kinds.ts';
import { ADJECTIVES, AWKWARD, HANDLES, NAMES, PLACES, SENTENCES, SUBJECTS, TAGS } from './words.ts';

export interface SampleOptions {
  readonly users: number;
  readonly seed: number;
  /** Of all users; otherwise they take turns. */
  readonly family?: Family | undefined;
  /** Whether every fifth user is one that breaks layouts. */
  readonly awkward: boolean;
  /** What the addresses of pictures begin with. */
  readonly picturesUrl: string;
}

/** Numbers of a user, who does not depend on the users before. */
type Random = (below: number) => number;

/** Of a user name. */
const LONGEST_NAME = 255;
const CHUNK_BYTES = 256 * 1024;
const MOST_ITEMS = 200;
/** A user's items have the ids from a thousand times the user's id on. */
const ID_STEP = 1000;
const AWKWARD_EVERY = 5;

/**
 * Lines of NDJSON in chunks that are worth a write: each user, and then the user's items. They are encoded user by user: texts
 * that live as long as a chunk take 40% more CPU.
 */
export function* generateSamples(options: SampleOptions): Generator<Buffer> {
  let chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let length = 0;
  for (let id = 1; id <= options.users; id++) {
    const lines = writeUser(id, options);
    // A character of UTF-16 has at most three bytes.
    const mostBytes = 3 * lines.length;
    if (length + mostBytes > chunk.length) {
      if (length > 0) yield chunk.subarray(0, length);
      chunk = Buffer.allocUnsafe(Math.max(CHUNK_BYTES, mostBytes));
      length = 0;
    }
    length += chunk.write(lines, length);
  }
  yield chunk.subarray(0, length);
}

function writeUser(id: number, options: SampleOptions): string {
  const random = createRandom(options.seed, id);
  const family = options.family ?? (id % 2 === 0 ? 'microblog' : 'portfolio');
  const isAwkward = options.awkward && id % AWKWARD_EVERY === 0;
  const odd = isAwkward ? AWKWARD[(id / AWKWARD_EVERY - 1) % AWKWARD.length] : undefined;
  const picture = (shapes: readonly string[]) =>
    `${options.picturesUrl}drawn-${random(1_000_000)}-${pick(odd === undefined ? shapes : AWKWARD_SHAPES, random)}.svg`;
  const items = isAwkward ? random(20) : countItems(random);
  const user = { id, items, random, picture, odd };
  const [writeProfile, writeItem] =
    family === 'microblog' ? [writeBlog, writePost] : [writePortfolio, writeShot];
  let lines = writeProfile(user);
  for (let nth = 0; nth < items; nth++) lines += writeItem(user, nth);
  return lines;
}

/** A xorshift generator of 32 bits, begun with a hash of seed and user. */
function createRandom(seed: number, id: number): Random {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(id, 0xc2b2ae35);
  state = Math.imul(state ^ (state >>> 16), 0x7feb352d) | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

/** An entry of a list, which must have one. */
const pick = <T>(list: readonly T[], random: Random): T => list[random(list.length)] as T;

/** A fifth have nothing yet, most a few, one in a hundred up to 200. */
function countItems(random: Random): number {
  const share = random(100);
  if (share < 20) return 0;
  if (share < 91) return 1 + random(3);
  return share < 99 ? 4 + random(12) : 16 + random(MOST_ITEMS - 15);
}

/** Most have few, few have many. */
const countFew = (random: Random) => random(1 + random(1 + random(random(20) === 0 ? 200_000 : 900)));

interface SampleUser {
  readonly id: number;
  readonly items: number;
  readonly random: Random;
  readonly picture: (shapes: readonly string[]) => string;
  readonly odd: (typeof AWKWARD)[number] | undefined;
}

const AVATARS = ['400x400', '400x400', '96x96', '300x500'];
const COVERS = ['1500x500', '1200x400', '800x800'];
const PICTURES = ['1600x1200', '1200x1600', '1000x1000', '2400x600', '500x1500', '320x240', '48x48'];

/** The last one does not exist. */
const AWKWARD_SHAPES = ['1x4000', '4000x1', '9999x9999', '0x0'];

const maybe = (share: number, random: Random, write: () => string) => (random(100) < share ? write() : '');

function describe({ id, random, picture, odd }: SampleUser) {
  const { given, family } = pick(NAMES, random);
  const [city, country] = pick(PLACES, random);
  const name = `${pick(given, random)} ${pick(family, random)}`;
  const username = odd?.name.trim()
    ? `${odd.name.slice(0, LONGEST_NAME - 1 - String(id).length)} ${id}`
    : `${pick(HANDLES, random)}${pick(['', '.', '_', '-'], random)}${id}`;
  if (odd?.text === '') return { id, username };
  return {
    id,
    username,
    name: odd?.name ?? maybe(92, random, () => name),
    location: maybe(75, random, () => city),
    country,
    website: maybe(40, random, () => `https://people.example.org/${id}`),
    bio: odd?.text ?? maybe(70, random, () => writeText(random, 3)),
    avatar: maybe(85, random, () => picture(AVATARS)),
    cover: maybe(60, random, () => picture(COVERS)),
  };
}

function writeText(random: Random, most: number): string {
  const first = random(SENTENCES.length);
  let text = `${SENTENCES[first]}`;
  for (let more = random(most); more > 0; more--)
    text += ` ${SENTENCES[(first + more * 3) % SENTENCES.length]}`;
  return text;
}

function writeBlog(user: SampleUser): string {
  const { random, items } = user;
  const { cover, country, avatar, ...rest } = describe(user);
  return writeLine({
    totalFollowers: countFew(random),
    totalFollowing: countFew(random),
    totalFavs: countFew(random),
    totalPost: items,
    ...rest,
    country: rest.location ? country : '',
    avatar,
    avatar_large: avatar,
    verified: random(50) === 0 ? '1' : '0',
    cover_image: cover,
    cover_large: cover,
  });
}

function writePortfolio(user: SampleUser): string {
  const { random, items } = user;
  const { cover, country: _, ...rest } = describe(user);
  return writeLine({
    totalFollowers: countFew(random),
    totalFollowing: countFew(random),
    Likes: countFew(random),
    totalShots: items,
    Lists: random(9),
    Listed: random(30),
    Projects: random(4),
    ...rest,
    skills: writeTags(random, 6),
    type_account: random(4),
    cover_image: cover,
  });
}

const writeLine = (record: Record<string, string | number | undefined>) => `${JSON.stringify(record)}\n`;

function writeTags(random: Random, most: number): string {
  const first = random(TAGS.length);
  let tags = '';
  for (let count = random(most); count > 0; count--)
    tags += `${tags === '' ? '' : ','}${TAGS[(first + count) % TAGS.length]}`;
  return tags;
}

const two = (number: number) => (number < 10 ? `0${number}` : String(number));

/** From 2012 to 2025, a third of them in the last year. */
function writeDate(random: Random): string {
  const year = random(3) === 0 ? 2025 : 2012 + random(14);
  const day = `${year}-${two(1 + random(12))}-${two(1 + random(28))}`;
  return `${day} ${two(random(24))}:${two(random(60))}:${two(random(60))}`;
}

// Items are most of the bytes: their words need no escape, so a text put together is as good as JSON.stringify.
function writePost({ id, random, picture, odd }: SampleUser, nth: number): string {
  const text = odd === undefined ? `"${writeText(random, 4)}"` : JSON.stringify(odd.text);
  const photo = maybe(55, random, () => picture(PICTURES));
  return `{"id":${id * ID_STEP + nth},"post_details":${text},"photo":"${photo}","user":${id},"status":1,"date":"${writeDate(random)}","status_general":1}\n`;
}

function writeShot({ id, random, picture, odd }: SampleUser, nth: number): string {
  const title = `${pick(ADJECTIVES, random)} ${pick(SUBJECTS, random)}`;
  const own = odd === undefined ? `"title":"${title}"` : `"title":${JSON.stringify(odd.name)}`;
  const text =
    odd === undefined ? `"${maybe(60, random, () => writeText(random, 3))}"` : JSON.stringify(odd.text);
  const image = maybe(95, random, () => picture(PICTURES));
  return `{"id":${id * ID_STEP + nth},"image":"${image}","large_image":"${image}","description":${text},${own},"user_id":${id},"status":1,"tags":"${writeTags(random, 5)}","date":"${writeDate(random)}","price_item":"${maybe(10, random, () => `${1 + random(400)}.00`)}"}\n`;
}
