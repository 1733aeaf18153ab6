// Converts ISO 8601 dates and times into the form of the wire, in UTC.
import { ZERO_DATE } from './schemas.ts';

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
