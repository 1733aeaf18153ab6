// Finds the name that was probably meant by a misspelt one.

/**
 * The first of the names that differs in letter case, or in a letter or two; undefined if all differ more. Names that are
 * shorter than `shortest` have neighbours of their own, such as HOME and HOST: of those only the letter case may differ.
 */
export function nearest(name: string, names: readonly string[], shortest = 4): string | undefined {
  const text = name.toLowerCase();
  const candidates = names.map((known) => ({ known, text: known.toLowerCase() }));
  for (const edits of [0, 1, 2])
    for (const candidate of candidates)
      if (edits <= mostEdits(candidate.known, shortest) && isNear(text, candidate.text, edits))
        return candidate.known;
  return undefined;
}

function mostEdits({ length }: string, shortest: number): number {
  if (length < shortest) return 0;
  return length < 9 ? 1 : 2;
}

/** Whether this many letters inserted, removed, replaced or swapped with the next make one text the other. */
function isNear(one: string, two: string, edits: number): boolean {
  if (one === two) return true;
  if (edits === 0 || Math.abs(one.length - two.length) > edits) return false;
  let at = 0;
  while (one[at] === two[at]) at++;
  const [a, b, restA, restB] = [one.slice(at), two.slice(at), one.slice(at + 1), two.slice(at + 1)];
  if (isNear(restA, b, edits - 1) || isNear(a, restB, edits - 1) || isNear(restA, restB, edits - 1))
    return true;
  return a[0] === b[1] && a[1] === b[0] && isNear(a.slice(2), b.slice(2), edits - 1);
}
