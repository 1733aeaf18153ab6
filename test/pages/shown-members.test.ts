// Where each member of a record is shown to people: a page, card or feed that differs when the member differs.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { KindName } from '../../src/records/kinds.ts';
import { MEMBERS, type Member } from '../../src/records/schemas.ts';
import { databaseOf } from '../support/database.ts';
import { fixture } from '../support/files.ts';
import { ask } from '../support/http.ts';
import { serveHere } from '../support/serve-here.ts';

/** In this order: the page of a person and of an item, the card, and the feeds. */
const PLACES = {
  page: (variant: string, name: string) => `/people/${variant}/${name}`,
  item: (variant: string, name: string, item: string) => `/people/${variant}/${name}/${item}`,
  card: (variant: string, name: string) => `/card/${variant}/${name}.svg`,
  atom: (variant: string, name: string) => `/feeds/${variant}/${name}.atom`,
  json: (variant: string, name: string) => `/feeds/${variant}/${name}.json`,
};

const OTHER = {
  text: 'Something else',
  list: 'something, else',
  name: '',
  count: '71',
  flag: '1',
  id: '',
  url: 'https://pictures.example/other.png',
  'date-time': '2001-02-03 04:05:06',
  token: 'f'.repeat(40),
};

type Sample = Record<string, string>;
interface Samples {
  readonly profile: Sample;
  readonly items: readonly Sample[];
}

const samples: Record<'microblog' | 'portfolio', Samples> = JSON.parse(
  readFileSync(fixture('examples.json'), 'utf8'),
);

const MADE_OF_IDS = /hue-\d+|#[0-9a-f]{6}|urn:uuid:[0-9a-f-]+/g;

/** Names and ids of one length: they differ from user to user, and say nothing of the member. */
const nameOf = (index: number) => `who${100 + index}`;
const idOf = (index: number) => String(880_100 + index);

/** The members whose owners tell records apart: they are shown as names and addresses. */
const isTold = ({ 'x-form': form }: Member) => form === 'name' || form === 'id';

const membersToChange = (kind: KindName) =>
  Object.entries(MEMBERS[kind])
    .filter(([, schema]) => !isTold(schema))
    .map(([member, schema]) => ({ kind, member, schema }));

/** The value that the sample does not have: another one, or none. */
const differing = (sample: Sample, member: string, { 'x-form': form, default: none = '' }: Member) =>
  [OTHER[form], none].find((value) => value !== sample[member]) as string;

/** One item that has all that items may have. */
const fill = (items: readonly Sample[]): Sample =>
  Object.assign(
    {},
    ...items.map((item) => Object.fromEntries(Object.entries(item).filter(([, text]) => text))),
  );

/** For each member, the places that change with it. */
async function findPlaces(family: 'microblog' | 'portfolio', owner: string, kinds: [KindName, KindName]) {
  const { profile, items } = samples[family];
  const item = fill(items);
  const changes = kinds.flatMap(membersToChange);
  const records = [undefined, ...changes].flatMap((change, index) => {
    const changed = (kind: KindName, sample: Sample) =>
      change?.kind === kind ? { [change.member]: differing(sample, change.member, change.schema) } : {};
    const id = idOf(index);
    return [
      { ...profile, ...changed(kinds[0], profile), id, username: nameOf(index) },
      { ...item, ...changed(kinds[1], item), id, [owner]: id },
    ];
  });
  const server = await serveHere({ DATABASE_URL: await databaseOf(...records) });
  const variant = family === 'microblog' ? 'a' : 'b';
  const look = async (index: number) => {
    const [name, id] = [nameOf(index), idOf(index)];
    const addresses = Object.values(PLACES).map((address) => address(variant, name, id));
    const replies = await Promise.all(addresses.map((address) => ask(server, address)));
    return replies.map(({ body }) =>
      body.replaceAll(name, 'NAME').replaceAll(id, 'ID').replaceAll(MADE_OF_IDS, ''),
    );
  };
  const usual = await look(0);
  const shown: Record<string, string> = {};
  for (const [index, { kind, member }] of changes.entries()) {
    const found = await look(index + 1);
    const places = Object.keys(PLACES).filter((_, place) => found[place] !== usual[place]);
    shown[`${kind}: ${member}`] = places.join(' ') || 'nowhere';
  }
  return shown;
}

/** Of a picture in two sizes the large one is shown; `nowhere` is said of the other one, which stands for it if it is missing. */
const SHOWN: Record<string, string> = {
  'microblog profile: avatar': 'page item',
  'microblog profile: avatar_large': 'page item atom json',
  'microblog profile: bio': 'page card atom json',
  'microblog profile: country': 'page',
  'microblog profile: cover_image': 'nowhere',
  'microblog profile: cover_large': 'page item',
  'microblog profile: location': 'page',
  'microblog profile: name': 'page item card atom json',
  'microblog profile: totalFavs': 'page',
  'microblog profile: totalFollowers': 'page card',
  'microblog profile: totalFollowing': 'page',
  'microblog profile: totalPost': 'page card',
  'microblog profile: verified': 'page card',
  'microblog profile: website': 'page atom json',
  'post: date': 'page item card atom json',
  'post: photo': 'page item atom json',
  'post: post_details': 'page item card atom json',
  'post: status': 'nowhere',
  'post: status_general': 'nowhere',
  'post: thumbnail_song': 'page item',
  'post: title_audio': 'page item',
  'post: token_id': 'nowhere',
  'post: url_audio': 'page item',
  'post: video_code': 'nowhere',
  'post: video_site': 'nowhere',
  'post: video_thumbnail': 'page item',
  'post: video_title': 'page item',
  'post: video_url': 'page item atom json',
  'portfolio profile: Likes': 'page',
  'portfolio profile: Listed': 'nowhere',
  'portfolio profile: Lists': 'nowhere',
  'portfolio profile: Projects': 'nowhere',
  'portfolio profile: avatar': 'page item atom json',
  'portfolio profile: bio': 'page card atom json',
  'portfolio profile: cover_image': 'page item',
  'portfolio profile: location': 'page',
  'portfolio profile: name': 'page item card atom json',
  'portfolio profile: skills': 'page',
  'portfolio profile: social_link': 'page',
  'portfolio profile: totalFollowers': 'page card',
  'portfolio profile: totalFollowing': 'page',
  'portfolio profile: totalShots': 'page card',
  'portfolio profile: type_account': 'nowhere',
  'portfolio profile: website': 'page atom json',
  'shot: attachment': 'item',
  'shot: created_project': 'nowhere',
  'shot: date': 'page item atom json',
  'shot: description': 'item atom json',
  'shot: id_project': 'nowhere',
  'shot: image': 'nowhere',
  'shot: large_image': 'page item atom json',
  'shot: price_item': 'page item',
  'shot: status': 'nowhere',
  'shot: tags': 'item atom json',
  'shot: title': 'page item card atom json',
  'shot: token_id': 'nowhere',
  'shot: url_purchased': 'item atom json',
};
const shownOf = (...kinds: KindName[]) =>
  Object.fromEntries(
    Object.entries(SHOWN).filter(([row]) => kinds.some((kind) => row.startsWith(`${kind}: `))),
  );

test('each member of the microblog family is shown where it says here, or nowhere', async () =>
  expect(await findPlaces('microblog', 'user', ['microblog profile', 'post'])).toEqual(
    shownOf('microblog profile', 'post'),
  ));

test('each member of the portfolio family is shown where it says here, or nowhere', async () =>
  expect(await findPlaces('portfolio', 'user_id', ['portfolio profile', 'shot'])).toEqual(
    shownOf('portfolio profile', 'shot'),
  ));
