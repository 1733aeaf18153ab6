// A normalised record with the keys under which a store keeps it, and stand-ins for faulty profiles.
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { type Family, KINDS, type KindName } from './kinds.ts';
import { type RawRecord, recogniseKind } from './recognise.ts';
import { digitsText } from './scalar.ts';
import { MicroblogProfile } from './schemas.ts';

export interface Row {
  readonly kind: KindName;
  readonly id: string;
  /** Empty for an item. */
  readonly userKey: string;
  /** What a user is found by, as a JSON array; empty for an item. */
  readonly words: string;
  /** Empty for a profile, like the date. */
  readonly owner: string;
  readonly date: string;
  /** The JSON text that is served. */
  readonly record: string;
}

const idCheck = TypeCompiler.Compile(MicroblogProfile.properties.id);
const PROFILES: readonly KindName[] = ['microblog profile', 'portfolio profile'];

/**
 * In an import that is refused anyway: with these, a faulty profile's items are not reported as items of an unknown owner.
 * One row for each family that the profile may belong to; none for an item.
 */
export function createPlaceholders(source: RawRecord, family?: Family): Row[] {
  const id = digitsText(source.id);
  if (!idCheck.Check(id)) return [];
  // No user name begins with a tab.
  return possibleProfiles(source, family).map((kind) => ({
    kind,
    id,
    userKey: `\t${id}`,
    words: '[]',
    owner: '',
    date: '',
    record: '{}',
  }));
}

function possibleProfiles(source: RawRecord, family: Family | undefined): readonly KindName[] {
  const recognised = recogniseKind(source, family);
  if (!('kind' in recognised)) return source.username === undefined ? [] : PROFILES;
  return KINDS[recognised.kind].role === 'item' ? [] : [recognised.kind];
}
