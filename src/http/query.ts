// The query of an address, read strictly: only `user` and `post` count.

/** A member's value: an array when it is repeated, null when its percent escapes are broken. */
type QueryValue = string | string[] | null;

export interface QueryMembers {
  user?: QueryValue;
  post?: QueryValue;
}

/** What a repeated member becomes; how often it is repeated does not matter. */
const REPEATED: string[] = [];

export function parseQuery(text: string): QueryMembers {
  const members: QueryMembers = {};
  if (text === '') return members;
  for (const part of text.split('&')) {
    const equals = part.indexOf('=');
    const name = unescaped(equals === -1 ? part : part.slice(0, equals));
    if (name !== 'user' && name !== 'post') continue;
    members[name] =
      members[name] === undefined ? unescaped(equals === -1 ? '' : part.slice(equals + 1)) : REPEATED;
  }
  return members;
}

function unescaped(text: string): string | null {
  if (!/[%+]/.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}
