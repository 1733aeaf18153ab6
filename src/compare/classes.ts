// What a comparison can come to, for one answer and for a user.

/** From the best to the worst. */
export const CLASSES = [
  /** Neither site knows the user. */
  'unknown',
  'same bytes',
  /** The same records in another form: order, spacing, numbers instead of strings. */
  'same meaning',
  /** Addresses of pictures differ and lead to the same bytes. */
  'pictures',
  /** The new site has newer items, or lacks the newest of the old one. */
  'newer',
  'older',
  'different',
  /** Only one of the sites has it. */
  'missing',
] as const;

export type Class = (typeof CLASSES)[number];
export type Side = 'old' | 'new';

export const isFault = (found: Class) => found === 'different' || found === 'missing';

/** The class of a user: the worst of both answers. */
export function worst(one: Class, other: Class | undefined): Class {
  return other !== undefined && CLASSES.indexOf(other) > CLASSES.indexOf(one) ? other : one;
}

export interface Difference {
  /** The id of the item; a profile has none. */
  readonly item?: string;
  /** `record` for what is wrong with a body or an item as a whole. */
  readonly member: string;
  readonly old: string;
  readonly new: string;
  /** What became of comparing the pictures. */
  readonly reason?: string;
}

/** A comparison of two answers, as it stands in the report. */
export interface Compared {
  readonly class: Class;
  /** The SHA-256 of each body; null where there is none. */
  readonly old: string | null;
  readonly new: string | null;
  readonly differences?: readonly Difference[];
  /** Members outside the specification that differ; they do not count. */
  readonly outside?: readonly string[];
  readonly pictures?: PictureCounts;
}

export interface PictureCounts {
  readonly compared: number;
  readonly notCompared: number;
}

/** A line of the report. */
export interface ComparedUser {
  readonly user: string;
  readonly profile: Compared;
  /** Null if the profile is not on both sites: its items are not asked for. */
  readonly items: Compared | null;
}
