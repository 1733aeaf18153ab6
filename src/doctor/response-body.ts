// What the body of a response is: a profile, an error of Vitrine's, or something else.
import type { HttpResponse } from '../remote/http-client.ts';

/** The JSON object in a body; undefined if it is anything else. */
export function objectIn(response: HttpResponse | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(String(response?.body));
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The code of an error of Vitrine's. */
export function codeOf(response: HttpResponse): string | undefined {
  const code = response.status < 400 ? undefined : objectIn(response)?.code;
  return typeof code === 'string' ? code : undefined;
}

export const isProfile = (response: HttpResponse | undefined) =>
  response?.status === 200 && typeof objectIn(response)?.username === 'string';
