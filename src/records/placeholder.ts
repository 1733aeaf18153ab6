// Stand-ins for faulty profiles in an import that is refused anyway: with them, a profile's items are not reported as
// items of an unknown owner.
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { type Family, KINDS, type KindName } from './kinds.ts';
import { type RawRecord, recogniseKind } from './recognise.ts';
import type { Row } from './row.ts';
import { digitsText } from './scalar.ts';
import { MicroblogProfile } from './schemas.ts';

const idCheck = TypeCompiler.Compile(MicroblogProfile.properties.id);
const PROFILES: readonly KindName[] = ['microblog profile', 'portfolio profile'];

/** One row for each family that the profile may belong to; none for an item. */
export function placeholdersOf(source: RawRecord, family?: Family): Row[] {
  const id = digitsText(source.id);
  if (!idCheck.Check(id)) return [];
  // No user name begins with a tab.
  return profileKindsOf(source, family).map((kind) => ({
    kind,
    id,
    userKey: `\t${id}`,
    owner: '',
    date: '',
    record: '{}',
  }));
}

function profileKindsOf(source: RawRecord, family: Family | undefined): readonly KindName[] {
  const recognised = recogniseKind(source, family);
  if (!('kind' in recognised)) return source.username === undefined ? [] : PROFILES;
  return KINDS[recognised.kind].role === 'item' ? [] : [recognised.kind];
}
