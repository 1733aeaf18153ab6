// Trailing commas, which strict JSON forbids and saved response bodies have.

/**
 * Puts a blank in the place of each comma that follows a value and ends an object, an array or the text. Places in a
 * parser's message stay right.
 */
export function withoutTrailingCommas(text: string): string {
  let mended = '';
  let copied = 0;
  let afterValue = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string;
    if (isBlank(character)) continue;
    if (character === ',' && afterValue && endsGroup(text, at + 1)) {
      mended += `${text.slice(copied, at)} `;
      copied = at + 1;
    }
    if (character === '"') at = endOfString(text, at);
    afterValue = !'[{:,'.includes(character);
  }
  return mended + text.slice(copied);
}

function endsGroup(text: string, from: number): boolean {
  let at = from;
  while (isBlank(text[at])) at++;
  return at === text.length || text[at] === '}' || text[at] === ']';
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\n' || character === '\r' || character === '\t';
}

/** Where the string that opens at `from` closes; the text's length if it never does. */
export function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return Math.min(at, text.length);
}
