export interface Shown {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The name of the body's type, or the names of the types that it may have. */
  readonly types: readonly string[];
  /** Where JavaScript puts the body. */
  readonly target?: string;
}
export const LANGUAGES: readonly string[];
export function escaped(text: string): string;
export function buildRequest(
  operation: { readonly path: string; readonly server: string; readonly types: readonly string[] },
  values: readonly { readonly name: string; readonly in: string; readonly value: string }[],
  root: string,
): Shown;
export function snippetIn(language: string, shown: Shown): string;
