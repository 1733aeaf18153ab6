// What a user name may be, and the form in which two spellings of one name meet.

const CONTROL = /\p{Cc}/u;
const PLAIN = /^[\x20-\x7e]*$/;

export const LONGEST_USER_NAME = 255;

/** Why this cannot be anybody's name; undefined when it can. */
export function userNameFault(name: string): string | undefined {
  if (name === '') return 'must not be empty';
  if (name.length > LONGEST_USER_NAME && [...name].length > LONGEST_USER_NAME)
    return `must have at most ${LONGEST_USER_NAME} characters`;
  if (CONTROL.test(name)) return 'must not contain control characters';
  if (!name.isWellFormed()) return 'must be well-formed Unicode';
  return undefined;
}

/** Names match whatever their letter case and Unicode form; lower-casing can undo NFC, hence twice. */
export function userKey(name: string): string {
  if (PLAIN.test(name)) return name.toLowerCase();
  return name.normalize('NFC').toLowerCase().normalize('NFC');
}
