// Turns a raw object into a record that is ready to be served, or tells what is wrong with each of its members. Every
// rule comes from the schemas.
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { isSheetDate, utcFromIso } from './dates.ts';
import { type Family, KIND_NAMES, KINDS, type KindName, perKind, type RecordKind } from './kinds.ts';
import { nearest } from './nearest.ts';
import { brief } from './printable.ts';
import { digitsText, isObject, scalarText } from './scalar.ts';
import { type Form, LARGEST_ID, MEMBERS, ZERO_DATE } from './schemas.ts';
import { type SearchedMember, searchWords } from './search-words.ts';
import { keysOf } from './tables.ts';
import { userKey, userNameFault } from './user-name.ts';

/** A normalised record with the keys under which a store keeps it. */
export interface Row {
  readonly kind: KindName;
  readonly id: string;
  /** Empty for an item. */
  readonly userKey: string;
  /** What a user is found by, as a JSON array; empty for an item. */
  readonly words: string;
  /** Empty for a profile, like the date. */
  readonly owner: string;
  readonly date: string;
  /** The JSON text that is served. */
  readonly record: string;
}

export interface Fault {
  readonly member: string;
  readonly reason: string;
  readonly got: string;
}

export const describeFault = ({ member, reason, got }: Fault) =>
  `${member}: ${reason}${got === '' ? '' : `, got "${got}"`}`;

/** Faults of a record come with its kind, if that is known. */
export type NormaliseResult =
  | { readonly row: Row }
  | { readonly faults: readonly Fault[]; readonly kind?: KindName };

/** Of a record as JSON, without the members that it does not give: a kind may get new ones. */
export const MAX_RECORD_BYTES = 64 * 1024;

/** The members tell the kind, unless the caller knows it; `family` decides about profiles that fit both. */
export function normalise(raw: unknown, known?: KindName, family?: Family): NormaliseResult {
  if (!isObject(raw))
    return refuse('must be an object with the members of a profile, a post or a shot', brief(raw));
  const recognised = known === undefined ? recogniseKind(raw, family) : { kind: known };
  if ('kind' in recognised) return build(recognised.kind, raw);
  return refuse(recognised.reason, brief(Object.keys(raw).slice(0, 5).join(', ')));
}

const refuse = (reason: string, got: string): NormaliseResult => ({
  faults: [{ member: 'record', reason, got }],
});

/** How to make one member of a record from a raw value. */
interface MemberPlan {
  readonly member: string;
  /** The JSON text in front of the value. */
  readonly opening: string;
  readonly form: Form;
  readonly mayNeedEscaping: boolean;
  readonly check: (text: string) => boolean;
  /** The text of an absent member; a required member has none. */
  readonly absent: string | undefined;
}

const DIGIT_FORMS: readonly Form[] = ['count', 'flag', 'id'];
const FREE_FORMS: readonly Form[] = ['text', 'list', 'name', 'url'];

const PLANS = perKind(plansFor);

function plansFor(kind: KindName): MemberPlan[] {
  const members = Object.entries(MEMBERS[kind]);
  return members.map(([member, schema], index) => {
    const compiled = TypeCompiler.Compile(schema);
    return {
      member,
      opening: `${index === 0 ? '{' : ','}"${member}":`,
      form: schema['x-form'],
      mayNeedEscaping: FREE_FORMS.includes(schema['x-form']),
      check: (text: string) => compiled.Check(text),
      absent: schema.default,
    };
  });
}

const NEEDS_ESCAPING = /["\\\p{Cc}\p{Cs}]/u;

function build(kind: KindName, source: RawRecord): NormaliseResult {
  const faults: Fault[] = [];
  let record = '';
  let absentBytes = 0;
  let values = source;
  for (const plan of PLANS[kind]) {
    const given = source[plan.member];
    let text = typeof given === 'string' ? given : toText(given, plan);
    if (text === undefined || !isValid(text, plan)) {
      const date = plan.form === 'date-time' ? toWireDate(given, plan) : undefined;
      if (date === undefined) {
        faults.push({ member: plan.member, reason: reasonFor(source, text, plan), got: brief(given) });
        continue;
      }
      text = date;
      values = { ...values, [plan.member]: date };
    }
    // Testing is cheaper than escaping, and few texts need that.
    const isPlain = text === '' || !plan.mayNeedEscaping || !NEEDS_ESCAPING.test(text);
    record += plan.opening + (isPlain ? `"${text}"` : JSON.stringify(text.toWellFormed()));
    if (text === plan.absent) absentBytes += plan.opening.length + text.length + 2;
  }
  if (faults.length > 0) return { faults, kind };
  record += '}';
  // A character of UTF-16 has at most three bytes.
  const bytes = 3 * record.length > MAX_RECORD_BYTES ? Buffer.byteLength(record) - absentBytes : 0;
  if (bytes <= MAX_RECORD_BYTES) return { row: buildRow(kind, values, record) };
  return refuse(`must be at most ${MAX_RECORD_BYTES} bytes as JSON`, `${bytes} bytes`);
}

function toText(given: unknown, { absent, form }: MemberPlan): string | undefined {
  if (given === undefined || given === null) return absent;
  if (form === 'list' && Array.isArray(given)) return listText(given);
  return DIGIT_FORMS.includes(form) ? digitsText(given) : scalarText(given);
}

/** An array as the comma-separated list that is meant; a text with a comma would become two. */
function listText(given: readonly unknown[]): string | undefined {
  const texts = given.map(scalarText);
  if (texts.some((text) => text === undefined || text.includes(','))) return undefined;
  return texts.filter((text) => text !== '').join(',');
}

/** Dates may come in ISO 8601 as well. */
function toWireDate(given: unknown, { check }: MemberPlan): string | undefined {
  const date = typeof given === 'string' ? utcFromIso(given) : undefined;
  return date !== undefined && check(date) ? date : undefined;
}

/** Most optional members are empty, which each of their schemas allows. */
function isValid(text: string, { absent, check }: MemberPlan): boolean {
  return (text === '' && absent !== undefined) || check(text);
}

/** The row of a source after all its members were checked, so those that are required have a text. */
function buildRow(kind: KindName, source: RawRecord, record: string): Row {
  const { owner }: RecordKind = KINDS[kind];
  const id = digitsText(source.id) as string;
  if (owner === undefined) return { kind, id, ...nameKeys(source), owner: '', date: '', record };
  const date = scalarText(source.date) as string;
  return { kind, id, userKey: '', words: '', owner: digitsText(source[owner]) as string, date, record };
}

/** The same of a profile. */
function nameKeys(profile: RawRecord) {
  const username = scalarText(profile.username) as string;
  const text = (member: SearchedMember) => scalarText(profile[member] ?? '') ?? '';
  const words = searchWords({
    username,
    name: text('name'),
    location: text('location'),
    skills: text('skills'),
  });
  return { userKey: userKey(username), words };
}

const MUST_BE_DIGITS = 'must be a whole number, not negative, of at most 40 digits';

/** What to say of a text that does not match its schema. A user name has several reasons. */
const REASONS: Record<Exclude<Form, 'name'>, string> = {
  text: 'must be text',
  list: 'must be text',
  count: MUST_BE_DIGITS,
  flag: MUST_BE_DIGITS,
  id: `must be a whole number from 1 to ${LARGEST_ID}, without leading zeros`,
  url: 'must be an absolute http or https URL',
  'date-time': `must be a real date and time as YYYY-MM-DD HH:MM:SS or in ISO 8601 (2026-02-28T10:00:00Z), or ${ZERO_DATE}`,
  token: 'must be 40 lower-case hexadecimal characters',
};

const SHEET_ADVICE = '--dates dmy or --dates mdy reads those of spreadsheets';

const OWNER_ADVICE = ': add the id of a user, as "1" for {"id":"1","username":"mira"}';
/** What to say of a missing member beside that. */
const MISSING: Record<string, string> = {
  user: OWNER_ADVICE,
  user_id: OWNER_ADVICE,
  date: ': add one such as 2026-02-28 10:00:00',
};

function reasonFor(source: RawRecord, text: string | undefined, { member, form }: MemberPlan): string {
  const given = source[member];
  if (given === undefined || given === null) {
    const others = Object.keys(source).filter((name) => name !== member);
    const meant = nearest(member, others);
    return `is missing${meant === undefined ? (MISSING[member] ?? '') : `: is it ${brief(meant)}?`}`;
  }
  if (text !== undefined && form === 'date-time' && isSheetDate(text))
    return `${REASONS[form]}; ${SHEET_ADVICE}`;
  // Only texts that do not match their schema come here.
  if (text !== undefined) return form === 'name' ? (userNameFault(text) as string) : REASONS[form];
  if (typeof given === 'number')
    return Number.isFinite(given)
      ? 'is too large to be exact as a number: write it as text'
      : 'must be text, a number or a boolean';
  if (form === 'list') return 'must be a text, or an array of texts without commas';
  return `must be text, a number or a boolean, not ${Array.isArray(given) ? 'an array' : 'an object'}`;
}

// Recognises which of the four kinds a raw object is by the members it has.

export type RawRecord = Record<string, unknown>;

const KINDS_BY_MARK = {
  user: ['post'],
  user_id: ['shot'],
  username: ['microblog profile', 'portfolio profile'],
} as const satisfies Record<string, readonly KindName[]>;
const MARKS = keysOf(KINDS_BY_MARK);

/** The members that only this kind has, among the two profiles or the two items. */
const OWN_MEMBERS = perKind((kind) => {
  const siblings = KIND_NAMES.filter((other) => other !== kind && KINDS[other].role === KINDS[kind].role);
  const shared = new Set(siblings.flatMap((other) => Object.keys(MEMBERS[other])));
  return Object.keys(MEMBERS[kind]).filter((member) => !shared.has(member));
});

const UNKNOWN_KIND = 'must have username (a profile), user (a post) or user_id (a shot)';
const AMBIGUOUS_PROFILE = 'fits both families: add --family portfolio or --family microblog';

/** The kind, or why it is not known. A profile that fits both families belongs to `family`, if that is given. */
export function recogniseKind(
  source: RawRecord,
  family?: Family,
): { readonly kind: KindName } | { readonly reason: string; readonly isAmbiguous: boolean } {
  const marks = MARKS.filter((member) => source[member] !== undefined);
  const mark = marks.length === 1 ? marks[0] : undefined;
  const candidates: readonly KindName[] = mark === undefined ? KIND_NAMES : KINDS_BY_MARK[mark];
  const [first, second] = candidates;
  if (first !== undefined && second === undefined) return { kind: first };
  const scores = candidates.map((kind) => ({ kind, score: score(kind, source) }));
  scores.sort((one, other) => other.score - one.score);
  const [best, next] = scores;
  if (best !== undefined && best.score > (next?.score ?? 0)) return { kind: best.kind };
  if (mark === undefined) return { reason: UNKNOWN_KIND, isAmbiguous: false };
  return family === undefined
    ? { reason: AMBIGUOUS_PROFILE, isAmbiguous: true }
    : { kind: `${family} profile` };
}

function score(kind: KindName, source: RawRecord): number {
  return OWN_MEMBERS[kind].filter((member) => source[member] !== undefined).length;
}
