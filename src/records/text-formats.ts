// The string formats that a regular expression cannot express, registered with TypeBox for every schema that names one.
import { FormatRegistry } from '@sinclair/typebox';

/** The value of a date-time member when there is no date. */
export const ZERO_DATE = '0000-00-00 00:00:00';

export const LARGEST_ID = String(2n ** 63n - 1n);
export const LONGEST_USER_NAME = 255;

FormatRegistry.Set('positive-int64', fitsInt64);
FormatRegistry.Set('http-url', isUrl);
FormatRegistry.Set('calendar-date-time', hasRealDay);
FormatRegistry.Set('unicode-name', (name) => !isTooLong(name) && name.isWellFormed());

/** Counts characters in Unicode form NFC: a name has the same length however its accents are written. */
export function isTooLong(name: string): boolean {
  return name.length > LONGEST_USER_NAME && [...name.normalize('NFC')].length > LONGEST_USER_NAME;
}

function fitsInt64(digits: string): boolean {
  return digits.length < LARGEST_ID.length || (digits.length === LARGEST_ID.length && digits <= LARGEST_ID);
}

const PLAIN_URL = /^https?:\/\/(?:[a-z0-9-]+\.)+[a-z]{2,}(?:\/[\w\-.~!$&'()*+,;=:@/%?]*)?$/;

/** Most URLs match the expression, which costs a tenth of URL.canParse. An absent link is an empty string. */
function isUrl(text: string): boolean {
  return text === '' || PLAIN_URL.test(text) || URL.canParse(text);
}

function hasRealDay(text: string): boolean {
  if (text.startsWith('0000')) return text === ZERO_DATE;
  const day = text.slice(8, 10);
  return day <= '28' || Number(day) <= lastDay(Number(text.slice(0, 4)), Number(text.slice(5, 7)));
}

/** `Date` reads years below 100 as 19xx; the calendar repeats every 400 years. */
function lastDay(year: number, month: number): number {
  return new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
}
