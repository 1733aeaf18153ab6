// Files that `vitrine publish` made: what their host answers differently from Vitrine, as far as it shows.
import { brief } from '../records/printable.ts';
import { type Deployment, isProfile } from './deployment.ts';

/** ETags of Vitrine. */
const OURS = /^"[\w-]{22}"$/;

export async function describeFiles(deployment: Deployment, user: string): Promise<string> {
  const { send, lookups, published } = deployment;
  const { profile } = lookups(user);
  const finds = async (path: string | undefined) => path === undefined || isProfile(await send(path));
  const differences: string[] = [];
  if (!(await finds(lookups(changeCase(user)).profile)))
    differences.push('does not find names in other letter case');
  const escaped = escapeLetter(deployment, user);
  if (!(await finds(escaped?.path)))
    differences.push(`does not find names with other escapes, such as ${escaped?.letter}`);
  if ((await send(profile, {}, 'POST')).status !== 405) differences.push('does not refuse POST with 405');
  const { etag } = (await send(profile)).headers;
  if (etag !== undefined && !OURS.test(etag)) differences.push('has ETags of its own');
  const files = `files of \`vitrine publish\` for ${brief(published ?? '')}`;
  return differences.length === 0 ? files : `${files}: unlike Vitrine, this host ${differences.join(', ')}`;
}

/** Every second letter in the other case: nobody has imported the name like this. */
const changeCase = (user: string) =>
  [...user]
    .map((letter, at) => {
      const lower = letter.toLowerCase();
      return at % 2 === 0 ? lower : lower.toUpperCase();
    })
    .join('');

/** The user's address with a letter encoded that need not be; undefined if the name begins with none. */
export function escapeLetter({ lookups }: Pick<Deployment, 'lookups'>, user: string) {
  if (!/^[a-z]/i.test(user)) return undefined;
  const letter = `%${user.charCodeAt(0).toString(16)}`;
  const path = lookups(user).profile.replace(new RegExp(`([=/])${user[0]}(?=[^=/]*$)`), `$1${letter}`);
  return { letter, path };
}
