// Converts ISO 8601 dates and times into the form of the wire, in UTC.
import { ZERO_DATE } from './schemas.ts';

const ISO_DATE =
  /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d)?(?:[.,]\d+)?(?:[Zz]|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)?$/;
const DAY = /^\d{4}-\d\d-\d\d$/;
const MINUTE_MS = 60_000;

/** A date and time as `YYYY-MM-DD HH:MM:SS`; undefined when it is none. Without a zone it counts as UTC, without a time as midnight. */
export function utcFromIso(text: string): string | undefined {
  const match = ISO_DATE.exec(DAY.test(text) ? `${text} 00:00` : text);
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

/** Whether the day or the month comes first in the dates of spreadsheets: 28.02.2026, 2/28/2026. */
export type DateOrder = 'dmy' | 'mdy';

const SHEET_DATE =
  /^(\d{1,2})[./-](\d{1,2})[./-](\d{4})(?:,? +(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?(?: ?([AaPp])\.?[Mm]\.?)?)?$/;

export const isSheetDate = (text: string) => SHEET_DATE.test(text);

/** The date that a spreadsheet writes, as UTC; undefined when it is none. */
export function utcFromSheet(text: string, order: DateOrder): string | undefined {
  const [, first, second, year, hour = '0', minute = '00', seconds = '00', half] =
    SHEET_DATE.exec(text) ?? [];
  if (first === undefined || second === undefined || year === undefined) return undefined;
  const [day, month] = order === 'dmy' ? [first, second] : [second, first];
  if (half !== undefined && (hour === '0' || Number(hour) > 12)) return undefined;
  const noon = /p/i.test(half ?? '') ? 12 : 0;
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + noon;
  const two = (part: string | number) => String(part).padStart(2, '0');
  return utcFromIso(`${year}-${two(month)}-${two(day)} ${two(hours)}:${minute}:${seconds}`);
}
