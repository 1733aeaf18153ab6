// Recognises which of the four kinds a raw object is by the members it has.
import { type Family, KIND_NAMES, KINDS, type KindName } from './kinds.ts';
import { SCHEMAS } from './schemas.ts';

export type RawRecord = Record<string, unknown>;

const KINDS_BY_MARK: Record<string, readonly KindName[]> = {
  user: ['post'],
  user_id: ['shot'],
  username: ['microblog profile', 'portfolio profile'],
};
const MARKS = Object.keys(KINDS_BY_MARK);

/** The members that only this kind has, among the two profiles or the two items. */
const OWN_MEMBERS = Object.fromEntries(
  KIND_NAMES.map((kind) => {
    const siblings = KIND_NAMES.filter((other) => other !== kind && KINDS[other].role === KINDS[kind].role);
    const shared = new Set(siblings.flatMap((other) => Object.keys(SCHEMAS[other].properties)));
    return [kind, Object.keys(SCHEMAS[kind].properties).filter((member) => !shared.has(member))];
  }),
) as Record<KindName, string[]>;

const UNKNOWN_KIND = 'must have username (a profile), user (a post) or user_id (a shot)';
const AMBIGUOUS_PROFILE =
  'fits both families: add --family portfolio (variants B and C) or --family microblog (variant A)';

/** The kind, or why it is not known. A profile that fits both families belongs to `family`, if that is given. */
export function recogniseKind(
  source: RawRecord,
  family?: Family,
): { readonly kind: KindName } | { readonly reason: string; readonly isAmbiguous: boolean } {
  const marks = MARKS.filter((member) => source[member] !== undefined);
  const candidates = (marks.length === 1 && KINDS_BY_MARK[marks[0] as string]) || KIND_NAMES;
  if (candidates.length === 1) return { kind: candidates[0] as KindName };
  const scores = candidates.map((kind) => ({ kind, score: score(kind, source) }));
  scores.sort((one, other) => other.score - one.score);
  const [best, next] = scores;
  if (best !== undefined && best.score > (next?.score ?? 0)) return { kind: best.kind };
  if (marks.length !== 1) return { reason: UNKNOWN_KIND, isAmbiguous: false };
  return family === undefined
    ? { reason: AMBIGUOUS_PROFILE, isAmbiguous: true }
    : { kind: `${family} profile` };
}

function score(kind: KindName, source: RawRecord): number {
  return OWN_MEMBERS[kind].filter((member) => source[member] !== undefined).length;
}
