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

interface Warning {
  count: number;
  readonly first: string;
}

export type Warnings = ReturnType<typeof createWarnings>;

/** `placeName` tells where a place is, as `FILE:LINE`. */
export function createWarnings(placeName: (place: number) => string) {
  let names: Warning | undefined;
  let unusual: Warning | undefined;
  let html: Warning | undefined;

  function lookForHtml({ kind }: Row, source: RawRecord, place: number): void {
    const member = TEXTS[kind]?.find((name) => isHtml(source[name]));
    if (member === undefined) return;
    html ??= { count: 0, first: `${placeName(place)}: ${member}, "${brief(source[member])}"` };
    html.count++;
  }

  function lookForUnusualName(key: string, source: RawRecord, place: number): void {
    const usual = takedownKey(key);
    if (usual === key) return;
    unusual ??= {
      count: 0,
      first: `${placeName(place)}: "${brief(source.username)}", which looks like "${brief(usual)}"`,
    };
    unusual.count++;
  }

  return {
    look(row: Row, source: RawRecord, place: number): void {
      if (row.userKey.charCodeAt(0) === AT_SIGN) {
        const name = brief(source.username);
        names ??= {
          count: 0,
          first: `${placeName(place)}: "${name}" is found as "${name}", not as "${name.slice(1)}"`,
        };
        names.count++;
      }
      if (row.userKey !== '') lookForUnusualName(row.userKey, source, place);
      // Searching the whole record for a character costs less than looking at each text.
      if (mayBeHtml(row.record)) lookForHtml(row, source, place);
    },
    /** One line for each kind of warning. */
    lines: (): string[] => [
      ...linesOf(names, 'user names that begin with @'),
      ...linesOf(unusual, 'user names with invisible characters, unusual forms or spaces'),
      ...linesOf(html, 'records with HTML in texts, which are served as they are'),
    ],
  };
}

const mayBeHtml = (text: string) => text.includes('<') || text.includes('&');
const isHtml = (value: unknown) => typeof value === 'string' && mayBeHtml(value) && HTML.test(value);

const linesOf = (warning: Warning | undefined, what: string) =>
  warning === undefined
    ? []
    : [printable(`warning: ${what}: ${warning.count}. The first is ${warning.first}`)];
