// The kinds of record, and whose they are; what stands in each, `records.ts` says.

/** "The last 15 content items": the one cap, of the schemas and of every store's query. */
export const ITEM_CAP = 15;

/** Whose records a variant shows. */
export type Family = 'microblog' | 'portfolio';
export const FAMILIES: readonly Family[] = ['microblog', 'portfolio'];

export interface RecordKind {
  readonly family: Family;
  readonly plural: string;
  /** The member that names the owner's id; a profile has none. */
  readonly owner?: 'user' | 'user_id';
}

/** Every kind of record there is. */
export const KINDS = {
  'microblog profile': { family: 'microblog', plural: 'microblog profiles' },
  post: { family: 'microblog', plural: 'posts', owner: 'user' },
  'portfolio profile': { family: 'portfolio', plural: 'portfolio profiles' },
  shot: { family: 'portfolio', plural: 'shots', owner: 'user_id' },
} as const satisfies Record<string, RecordKind>;

export type KindName = keyof typeof KINDS;
export const KIND_NAMES = Object.keys(KINDS) as KindName[];
