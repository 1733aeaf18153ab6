// The deployment that is looked at: where its variant answers, for whom, and what it says to the plainest questions.
import { AskError, type Asker, type Heard } from '../remote/http-client.ts';
import { basePath, LOOKUPS, type Variant } from '../remote/lookups.ts';

export interface Patient {
  /** Whether anything of this kind answers there. */
  readonly found: boolean;
  /** What was heard at the very address that was given. */
  readonly first: Heard | AskError;
  readonly origin: string;
  /** The path that was given, and the one under which the variant answers. */
  readonly given: string;
  readonly path: string;
  readonly variant: Variant;
  /** A user who is there, when one is known. */
  readonly user: string | undefined;
  /** A name that nobody has. */
  readonly nobody: string;
  /** Asks as a page on another origin would. */
  readonly ask: (
    path: string,
    headers?: Record<string, string>,
    method?: 'GET' | 'HEAD' | 'OPTIONS',
  ) => Promise<Heard>;
  readonly lookups: (name: string) => { profile: string; items: string };
  /** Where something is asked for wrongly, such that a proxy would pass it on. */
  readonly malformed: string;
}

const ORIGIN = 'https://vitrine-doctor.example';
/** Somebody of the sample data. */
const SAMPLE_USER = 'ada';

export async function findVariant(
  asker: Asker,
  base: URL,
  variant: Variant | undefined,
  user: string | undefined,
): Promise<Patient> {
  const ask: Patient['ask'] = (path, headers = {}, method = 'GET') =>
    asker.ask({
      path,
      method,
      headers: { origin: ORIGIN, accept: 'application/json', 'accept-encoding': 'identity', ...headers },
    });
  const given = basePath(base);
  const nobody = `nobody-${Math.random().toString(36).slice(2, 10)}`;
  const about = { origin: base.origin, given, nobody, ask };

  const heard: { path: string; style: 'a' | 'b'; reply: Heard }[] = [];
  let failure: AskError | undefined;
  for (const path of placesToLook(given, variant))
    for (const style of stylesOf(variant)) {
      if (failure !== undefined) continue;
      try {
        heard.push({ path, style, reply: await ask(LOOKUPS[style](path, user ?? SAMPLE_USER).profile) });
      } catch (error) {
        if (!(error instanceof AskError)) throw error;
        failure = error;
      }
      if (isProfile(heard.at(-1)?.reply)) break;
    }

  // A profile is proof; an answer of ours that there is no such user, or that none was named, nearly so.
  const at =
    heard.find(({ reply }) => isProfile(reply)) ??
    heard.find(({ reply }) => codeOf(reply) === 'USER_NOT_FOUND') ??
    heard.find(({ reply }) => codeOf(reply) === 'USER_MISSING') ??
    (variant === undefined || heard[0]?.reply.status !== 404
      ? undefined
      : heard.find(({ path }) => path === given));
  const first = heard[0]?.reply ?? (failure as AskError);
  const style = at?.style ?? stylesOf(variant)[0] ?? 'b';
  const path = at?.path ?? given;
  const known = isProfile(at?.reply) ? (user ?? SAMPLE_USER) : undefined;
  const lookups = (name: string) => LOOKUPS[style](path, name);
  const found = at !== undefined;
  const guessed =
    variant ??
    (style === 'a' || known === undefined ? style : await collectionTells(ask, lookups(known).items));
  const malformed = style === 'a' ? `${path}/api/?post=true` : `${path}/api/username/`;
  return { ...about, found, first, path, variant: guessed, user: known, lookups, malformed };
}

/** First where it was said to be; then where it would be without its prefix; then under the usual base addresses. */
function placesToLook(given: string, variant: Variant | undefined): string[] {
  const usual = (['a', 'b', 'c'] as const).filter((each) => variant === undefined || variant === each);
  return [...new Set([given, given + given, ...usual.map((each) => `${given}/${each}`)])];
}

const stylesOf = (variant: Variant | undefined) =>
  variant === undefined ? (['b', 'a'] as const) : variant === 'a' ? (['a'] as const) : (['b'] as const);

async function collectionTells(ask: Patient['ask'], items: string): Promise<Variant> {
  const body = objectIn(await ask(items));
  return body !== undefined && 'Posts' in body ? 'c' : 'b';
}

/** The JSON object that a body is; undefined when it is anything else. */
export function objectIn(reply: Heard | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(String(reply?.body));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** The code of an error of Vitrine's own. */
export function codeOf(reply: Heard): string | undefined {
  const code = reply.status < 400 ? undefined : objectIn(reply)?.code;
  return typeof code === 'string' ? code : undefined;
}

export const isProfile = (reply: Heard | undefined) =>
  reply?.status === 200 && typeof objectIn(reply)?.username === 'string';
