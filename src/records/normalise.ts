// Anything -> a record that is ready to be served, or what is wrong with it, member by member.

import { FAMILIES, KIND_NAMES, KINDS, type KindName, type RecordKind } from './kinds.ts';
import type { Row } from './row.ts';
import { type Form, type Member, SCHEMAS, ZERO_DATE } from './schemas.ts';
import { userKey, userNameFault } from './user-name.ts';

export interface Fault {
  readonly member: string;
  readonly reason: string;
  readonly got: string;
}

export type Normalised = { readonly row: Row } | { readonly faults: readonly Fault[] };

export const MAX_RECORD_BYTES = 64 * 1024;

/** Which of the four it is, its members tell, unless whoever gives it knows. */
export function normalise(raw: unknown, known?: KindName): Normalised {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw))
    return {
      faults: [fault('record', 'must be an object with the members of a profile, a post or a shot', raw)],
    };
  const source = raw as Record<string, unknown>;
  const kind = known ?? kindOf(source);
  if (typeof kind !== 'string') return { faults: [kind] };
  return build(kind, source);
}

const DIGITS = /^[0-9]+$/;
const TOKEN = /^[0-9a-f]{40}$/;
const ID = /^[1-9][0-9]{0,18}$/;
const PLAIN_URL = /^https?:\/\/(?:[a-z0-9-]+\.)+[a-z]{2,}(?:\/[\w\-.~!$&'()*+,;=:@/%?]*)?$/;
const URL_START = /^https?:\/\/[^\s/]/i;
const SPACE_OR_CONTROL = /[\s\p{Cc}]/u;
const DATE_TIME =
  /^(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]) (?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d$/;
const NEEDS_ESCAPE = /["\\\p{Cc}\p{Cs}]/u;
const LARGEST_ID = String(2n ** 63n - 1n);

/** Why a text does not have the form; undefined when it does. */
type Check = (text: string) => string | undefined;

const CHECKS: Record<Form, Check> = {
  text: () => undefined,
  name: userNameFault,
  count: digits,
  flag: digits,
  id: (text) =>
    isId(text) ? undefined : 'must be a whole number from 1 to 9223372036854775807, without leading zeros',
  url: (text) => (isHttpUrl(text) ? undefined : 'must be an absolute http or https URL'),
  'date-time': (text) =>
    isDateTime(text) ? undefined : `must be a real date and time as YYYY-MM-DD HH:MM:SS, or ${ZERO_DATE}`,
  token: (text) => (TOKEN.test(text) ? undefined : 'must be 40 lower-case hexadecimal characters'),
};

interface Step {
  readonly member: string;
  readonly opening: string;
  readonly check: Check;
  readonly plain: boolean;
  readonly absent: string | undefined;
}

/** What makes a record of a kind, a step for each member, worked out once. */
const PLANS = Object.fromEntries(
  KIND_NAMES.map((kind) => [
    kind,
    Object.entries(SCHEMAS[kind].properties as Record<string, Member>).map(
      ([member, schema], index): Step => ({
        member,
        opening: `${index === 0 ? '{' : ','}"${member}":`,
        check: CHECKS[schema['x-form']],
        // Digits, hexadecimals and dates need no escaping.
        plain: !['text', 'name', 'url'].includes(schema['x-form']),
        absent: schema.default as string | undefined,
      }),
    ),
  ]),
) as Record<KindName, Step[]>;

function build(kind: KindName, source: Record<string, unknown>): Normalised {
  const faults: Fault[] = [];
  let record = '';
  for (const { member, opening, check, plain, absent } of PLANS[kind]) {
    const given = source[member];
    const text = textOf(given);
    let reason: string | undefined;
    if (text === undefined) {
      if (given !== undefined && given !== null) reason = refusal(given);
      else if (absent === undefined) reason = 'is missing';
      else record += `${opening}"${absent}"`;
    } else {
      if (text !== '' || absent === undefined) reason = check(text);
      // Looking is cheaper than escaping, which few texts need.
      if (plain || text === '' || !NEEDS_ESCAPE.test(text)) record += `${opening}"${text}"`;
      else record += opening + JSON.stringify(text.toWellFormed());
    }
    if (reason !== undefined) faults.push(fault(member, reason, given));
  }
  record += '}';
  // Three bytes are the most that one of its characters takes.
  if (faults.length === 0 && record.length * 3 > MAX_RECORD_BYTES) {
    const bytes = Buffer.byteLength(record);
    if (bytes > MAX_RECORD_BYTES)
      faults.push({
        member: 'record',
        reason: `must be at most ${MAX_RECORD_BYTES} bytes as JSON`,
        got: `${bytes} bytes`,
      });
  }
  return faults.length === 0 ? { row: rowOf(kind, source, record) } : { faults };
}

/** With its keys, from a source whose members have all been checked. */
function rowOf(kind: KindName, source: Record<string, unknown>, record: string): Row {
  const about: RecordKind = KINDS[kind];
  const text = (member: string) => textOf(source[member]) as string;
  if (about.owner === undefined)
    return { kind, id: text('id'), userKey: userKey(text('username')), owner: '', date: '', record };
  return { kind, id: text('id'), userKey: '', owner: text(about.owner), date: text('date'), record };
}

/** Which record it is: the owner's member or the user name tells; between two profiles, what only one of them has. */
function kindOf(source: Record<string, unknown>): KindName | Fault {
  const marks = MARKS.filter((member) => source[member] !== undefined);
  const candidates = marks.length === 1 ? BY_MARK[marks[0] as string] : KIND_NAMES;
  if (candidates?.length === 1) return candidates[0] as KindName;
  const scores = (candidates ?? KIND_NAMES).map((kind) => ({ kind, score: score(kind, source) }));
  scores.sort((a, b) => b.score - a.score);
  const [best, next] = scores;
  if (best !== undefined && best.score > 0 && best.score > (next?.score ?? 0)) return best.kind;
  const reason =
    marks.length === 1
      ? `could be a profile of either family: give it a member that only one of them has, ${FAMILIES.map(
          (family) => `${ONLY_IN[`${family} profile`][0]} (${family})`,
        ).join(' or ')}`
      : 'has not the members of a profile (username), a post (user) or a shot (user_id)';
  return fault('record', reason, Object.keys(source).slice(0, 5).join(', '));
}

const BY_MARK: Record<string, KindName[]> = {
  user: ['post'],
  user_id: ['shot'],
  username: ['microblog profile', 'portfolio profile'],
};
const MARKS = Object.keys(BY_MARK);

/** The members that only this kind has, among the two profiles or the two items. */
const ONLY_IN = Object.fromEntries(
  KIND_NAMES.map((kind) => {
    const others = KIND_NAMES.filter(
      (other) => other !== kind && 'owner' in KINDS[other] === 'owner' in KINDS[kind],
    );
    const shared = new Set(others.flatMap((other) => Object.keys(SCHEMAS[other].properties)));
    return [kind, Object.keys(SCHEMAS[kind].properties).filter((member) => !shared.has(member))];
  }),
) as Record<KindName, string[]>;

const score = (kind: KindName, source: Record<string, unknown>) =>
  ONLY_IN[kind].filter((member) => source[member] !== undefined).length;

/** The text of a scalar; undefined when it has none. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (typeof value === 'bigint') return String(value);
  if (
    typeof value === 'number' &&
    (Number.isSafeInteger(value) || !Number.isInteger(value)) &&
    Number.isFinite(value)
  )
    return String(value);
  return undefined;
}

function refusal(value: unknown): string {
  if (typeof value === 'number') return 'is too large to be exact as a number: write it as text';
  return `must be text, a number or a boolean, not ${Array.isArray(value) ? 'an array' : 'an object'}`;
}

function digits(text: string): string | undefined {
  return DIGITS.test(text) ? undefined : 'must be decimal digits only';
}

function isId(text: string): boolean {
  return ID.test(text) && (text.length < LARGEST_ID.length || text <= LARGEST_ID);
}

function isHttpUrl(text: string): boolean {
  // The plain case by one expression: URL.canParse costs ten times as much.
  if (PLAIN_URL.test(text)) return true;
  return URL_START.test(text) && !SPACE_OR_CONTROL.test(text) && URL.canParse(text);
}

function isDateTime(text: string): boolean {
  if (!DATE_TIME.test(text)) return text === ZERO_DATE;
  const day = text.slice(8, 10);
  return day <= '28' || Number(day) <= lastDay(Number(text.slice(0, 4)), Number(text.slice(5, 7)));
}

// Years below 100 mean the twentieth century to Date; the calendar repeats every 400.
const lastDay = (year: number, month: number) =>
  new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();

const LONGEST_GOT = 60;

function fault(member: string, reason: string, value: unknown): Fault {
  return { member, reason, got: brief(value) };
}

/** A value in a few characters of printable text, for a message. */
export function brief(value: unknown): string {
  if (value === undefined) return '';
  const text =
    typeof value === 'string' ? value : typeof value === 'bigint' ? String(value) : sourceOf(value);
  const shown = (text ?? '').toWellFormed().replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '\ufffd');
  return shown.length > LONGEST_GOT ? `${shown.slice(0, LONGEST_GOT)}…` : shown;
}

function sourceOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, (_member, inner) => (typeof inner === 'bigint' ? String(inner) : inner));
  } catch {
    // Nested deeper than can be told.
    return '…';
  }
}
