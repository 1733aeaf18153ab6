// Records that are valid but look like mistakes: counted, with the first place of each kind.
import { KIND_NAMES } from '../records/kinds.ts';
import { brief, printable } from '../records/printable.ts';
import type { RawRecord } from '../records/recognise.ts';
import type { Row } from '../records/row.ts';
import { type Member, SCHEMAS } from '../records/schemas.ts';
import { takedownKey } from '../records/user-name.ts';

const TEXTS = Object.fromEntries(
  KIND_NAMES.map((kind) => {
    const members = Object.entries(SCHEMAS[kind].properties as Record<string, Member>);
    return [kind, members.filter(([, schema]) => schema['x-form'] === 'text').map(([member]) => member)];
  }),
);
const AT_SIGN = 64;
/** A tag, or one of the usual entities. `a < b`, `<3` and `<https://a.example>` are none. */
const HTML =
  /<\/?[a-z][a-z0-9]*(?:\s[^<>]*)?\/?>|<!--|&(?:amp|lt|gt|quot|apos|nbsp|hellip|[lr][sd]quo|[mn]dash|#\d+|#x[\da-f]+);/i;

const AT_NAMES = 'user names that begin with @';
const UNUSUAL_NAMES = 'user names with invisible characters, unusual forms or spaces';
const HTML_TEXTS = 'records with HTML in texts, which are served as they are';

export type Warnings = ReturnType<typeof createWarnings>;

/** `placeName` tells where a place is, as `FILE:LINE`. */
export function createWarnings(placeName: (place: number) => string) {
  const found = new Map<string, { count: number; readonly first: string }>();

  function warn(what: string, place: number, describe: () => string): void {
    const warning = found.get(what);
    if (warning !== undefined) warning.count++;
    else found.set(what, { count: 1, first: `${placeName(place)}: ${describe()}` });
  }

  function lookAtName(key: string, name: string, place: number): void {
    if (key.charCodeAt(0) === AT_SIGN)
      warn(AT_NAMES, place, () => `"${name}" is found as "${name}", not as "${name.slice(1)}"`);
    const usual = takedownKey(key);
    if (usual !== key) warn(UNUSUAL_NAMES, place, () => `"${name}", which looks like "${brief(usual)}"`);
  }

  return {
    warn,
    look({ kind, userKey, record }: Row, source: RawRecord, place: number): void {
      if (userKey !== '') lookAtName(userKey, brief(source.username), place);
      // Searching the whole record for a character costs less than looking at each text.
      if (!mayBeHtml(record)) return;
      const member = TEXTS[kind]?.find((name) => isHtml(source[name]));
      if (member !== undefined) warn(HTML_TEXTS, place, () => `${member}, "${brief(source[member])}"`);
    },
    /** One line for each kind of warning. */
    lines: (): string[] =>
      [...found].map(([what, { count, first }]) =>
        printable(`warning: ${what}: ${count}. The first is ${first}`),
      ),
  };
}

const mayBeHtml = (text: string) => text.includes('<') || text.includes('&');
const isHtml = (value: unknown) => typeof value === 'string' && mayBeHtml(value) && HTML.test(value);
