// Loads a person and the newest shots, or says why there is nothing to show.
import type { ApiError, ItemsB, PortfolioProfile } from 'vitrine/types';

const API = 'http://127.0.0.1:8080/b/api/username/';

export type Person = { state: 'loading' } | Awaited<ReturnType<typeof load>>;

export async function load(user: string) {
  const url = API + encodeURIComponent(user);
  try {
    const [profile, items] = await Promise.all([get<PortfolioProfile>(url), get<ItemsB>(`${url}/shots`)]);
    return { state: 'found', profile, shots: items.Shots } as const;
  } catch (error) {
    const { message, cause } = error as Error;
    const isUnknown = cause === 'USER_NOT_FOUND' || cause === 'USER_GONE';
    return { state: isUnknown ? 'unknown' : 'failed', message } as const;
  }
}

async function get<Body>(url: string): Promise<Body> {
  const response = await fetch(url);
  const body = await response.json();
  if (response.ok) return body;
  const { message, code }: ApiError = body;
  throw new Error(message, { cause: code });
}
