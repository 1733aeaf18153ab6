// Markup as a template: what is put into it is escaped, for HTML and XML, unless it is markup itself.

export class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  toString(): string {
    return this.text;
  }
}

/** `false` and `undefined` write nothing. */
type Part = string | number | false | Markup | readonly Part[] | undefined;

export function markup(texts: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(
    texts.map((text, index) => (index === 0 ? text : written(parts[index - 1]) + text)).join(''),
  );
}

function written(part: Part): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Markup) return part.text;
  return Array.isArray(part) ? part.map(written).join('') : escapeText(String(part));
}

/** Characters that XML does not allow, even escaped. */
const ILLEGAL = /[^\P{Cc}\t\n\r]|[\ufffe\uffff]/gu;

/** Patterns: `replaceAll` with strings takes twice the time in a text full of these characters. */
export function escapeText(text: string): string {
  const legal = text.toWellFormed().replace(ILLEGAL, '\ufffd');
  if (!/[&<>"']/.test(legal)) return legal;
  return legal
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;')
    .replace(/'/g, '&#39;');
}

/** JSON for a script element: no `<` can end it. */
export const jsonBlock = (value: unknown) => new Markup(JSON.stringify(value).replaceAll('<', '\\u003c'));

/** A template with its comments of the form `<!-- name -->` filled in; those of other names stay. */
export const fill = (template: string, parts: Readonly<Record<string, Markup | undefined>>): string =>
  template.replace(/<!-- ([a-z-]+) -->/g, (comment, name: string) =>
    Object.hasOwn(parts, name) ? (parts[name]?.text ?? '') : comment,
  );
