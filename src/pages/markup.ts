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
type MarkupPart = string | number | false | Markup | readonly MarkupPart[] | undefined;

/** A loop: with `map` and `join`, rendering a page takes half as long again. */
export function markup(texts: TemplateStringsArray, ...parts: readonly MarkupPart[]): Markup {
  let text = texts[0] ?? '';
  for (let index = 0; index < parts.length; index++) text += written(parts[index]) + texts[index + 1];
  return new Markup(text);
}

function written(part: MarkupPart): string {
  if (typeof part === 'string') return escapeText(part);
  if (part === undefined || part === false) return '';
  if (part instanceof Markup) return part.text;
  if (!Array.isArray(part)) return String(part);
  let text = '';
  for (const each of part) text += written(each);
  return text;
}

/** All but those that are neither escaped nor forbidden in XML nor halves of a character. Few texts have any. */
const UNUSUAL = /[^\t\n\r !#-%(-;=?-~\xa0-\ud7ff\ue000-\ufffd]/;
const ILLEGAL = /[^\P{Cc}\t\n\r]|[\ufffe\uffff]/gu;

/** Patterns: `replaceAll` with strings takes twice the time in a text full of these characters. */
export function escapeText(text: string): string {
  if (!UNUSUAL.test(text)) return text;
  return text
    .toWellFormed()
    .replace(ILLEGAL, '\ufffd')
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

/** A text with values, which may be markup, in place of `{name}` and the like. */
export const fillMarkup = (text: string, values: Readonly<Record<string, Markup | string>>): Markup =>
  markup`${text.split(/\{(\w+)\}/).map((part, index) => (index % 2 === 0 ? part : (values[part] ?? '')))}`;
