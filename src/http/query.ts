// The query of an address, as strictly as its two members ask for.

/** A member's value: several when it is repeated, null when its percent escapes are broken. */
export type QueryValue = string | string[] | null;
export interface QueryMembers {
  user?: QueryValue;
  post?: QueryValue;
}

/** Reads the two members that count; unknown ones are ignored. */
export function parseQuery(text: string): QueryMembers {
  const members: QueryMembers = {};
  if (text === '') return members;
  for (const part of text.split('&')) {
    const equals = part.indexOf('=');
    const name = unescaped(equals === -1 ? part : part.slice(0, equals));
    if (name !== 'user' && name !== 'post') continue;
    const value = unescaped(equals === -1 ? '' : part.slice(equals + 1));
    const before = members[name];
    members[name] = before === undefined ? value : [before, value].flat().map((one) => one ?? '');
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
