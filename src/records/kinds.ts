// The kinds of records and the families they belong to. Their members are in `schemas.ts`.

import { createTable, keysOf } from './tables.ts';

/** The specification's "last 15 content items", for the schemas and the queries of every store. */
export const ITEM_CAP = 15;

/** A group of users: each variant serves one family. */
export type Family = 'microblog' | 'portfolio';
export const FAMILIES: readonly Family[] = ['microblog', 'portfolio'];

type Role = 'profile' | 'item';

export interface RecordKind {
  readonly family: Family;
  readonly role: Role;
  readonly plural: string;
  /** The member with the id of the item's owner; a profile has none. */
  readonly owner?: 'user' | 'user_id';
}

/** All kinds of records. */
export const KINDS = {
  'microblog profile': { family: 'microblog', role: 'profile', plural: 'microblog profiles' },
  post: { family: 'microblog', role: 'item', plural: 'posts', owner: 'user' },
  'portfolio profile': { family: 'portfolio', role: 'profile', plural: 'portfolio profiles' },
  shot: { family: 'portfolio', role: 'item', plural: 'shots', owner: 'user_id' },
} as const satisfies Record<string, RecordKind>;

export type KindName = keyof typeof KINDS;
export const KIND_NAMES = keysOf(KINDS);

const KIND_OF: Readonly<Record<Family, Readonly<Record<Role, KindName>>>> = {
  microblog: { profile: 'microblog profile', item: 'post' },
  portfolio: { profile: 'portfolio profile', item: 'shot' },
};
export const findKind = (family: Family, role: Role): KindName => KIND_OF[family][role];

/** A value for each kind. */
export const perKind = <T>(create: (kind: KindName) => T) => createTable(KIND_NAMES, create);

/** The members that lead to a picture. */
export const PICTURE_MEMBERS: Readonly<Record<KindName, readonly string[]>> = {
  'microblog profile': ['avatar', 'avatar_large', 'cover_image', 'cover_large'],
  post: ['photo', 'video_thumbnail', 'thumbnail_song'],
  'portfolio profile': ['avatar', 'cover_image'],
  shot: ['image', 'large_image'],
};

/** The members that lead to another file. */
export const FILE_MEMBERS: Readonly<Record<KindName, readonly string[]>> = {
  'microblog profile': [],
  post: ['url_audio'],
  'portfolio profile': [],
  shot: ['attachment'],
};
