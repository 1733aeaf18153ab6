// Adds fields to posts and to portfolio profiles, before other modules read the schemas. Import it first.
import { type Member, PortfolioProfile, Post } from '../../src/records/schemas.ts';

/** Adds an optional field in the place of another one, which follows it; or as the last one. */
function addField(members: Record<string, Member>, name: string, next?: string): void {
  const before = Object.entries(members);
  const [, model] = before.find(([, schema]) => schema.default !== undefined) as [string, Member];
  for (const [member] of before) delete members[member];
  for (const [member, schema] of before)
    Object.assign(members, member === next && { [name]: model }, { [member]: schema });
  if (next === undefined) members[name] = model;
}

addField(Post.properties, 'made_up_last');
addField(Post.properties, 'made_up', 'photo');
addField(Post.properties, 'made_up_too', 'photo');
addField(PortfolioProfile.properties, 'made_up_first', 'totalFollowers');
