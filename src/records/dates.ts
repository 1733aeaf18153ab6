// Dates and times in the form of the wire, in UTC; ISO 8601 dates become it.
import { FormatRegistry } from '@sinclair/typebox';

/** The value of a date-time member when there is no date. */
export const ZERO_DATE = '0000-00-00 00:00:00';

FormatRegistry.Set('calendar-date-time', hasRealDay);

function hasRealDay(text: string): boolean {
  if (text.startsWith('0000')) return text === ZERO_DATE;
  const day = text.slice(8, 10);
  return day <= '28' || Number(day) <= lastDay(Number(text.slice(0, 4)), Number(text.slice(5, 7)));
}

/** `Date` reads years below 100 as 19xx; the calendar repeats every 400 years. */
function lastDay(year: number, month: number): number {
  return new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
}

const ISO_DATE =
  /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d)?(?:[.,]\d+)?(?:[Zz]|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)?$/;
const MINUTE_MS = 60_000;

/** A date and time as `YYYY-MM-DD HH:MM:SS`; undefined when it is none. Without a zone it counts as UTC. */
export function utcFromIso(text: string): string | undefined {
  const match = ISO_DATE.exec(text);
  if (match === null) return undefined;
  const [, day, minute, second = ':00', sign, hours = '0', minutes = '0'] = match;
  const local = `${day} ${minute}${second}`;
  if (local === ZERO_DATE) return local;
  const time = Date.parse(`${local.replace(' ', 'T')}Z`);
  // Date.parse takes February 30 for a day in March.
  if (Number.isNaN(time) || wireDate(time) !== local) return undefined;
  const offset = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
  return wireDate(sign === '-' ? time + offset : time - offset);
}

/** A time in milliseconds since 1970; undefined outside of the years 1 to 9999. */
export function wireDate(time: number): string | undefined {
  const date = new Date(time);
  const year = date.getUTCFullYear();
  return year >= 1 && year <= 9999 ? date.toISOString().slice(0, 19).replace('T', ' ') : undefined;
}
