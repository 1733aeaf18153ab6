/**
 * <vitrine-profile>: a card with a user's profile and latest items, for any web page.
 *
 *   <script type="module" src="https://…/embed.js"></script>
 *   <vitrine-profile base="https://…/b" variant="b" user="ada" items="6">
 *     <a href="https://…/people/b/ada">ada</a>
 *   </vitrine-profile>
 *
 * What stands inside the element is shown where scripts do not run.
 *
 * Custom properties: --vitrine-accent, -background, -text, -muted, -border, -radius, -font, -columns, -width.
 * Parts: card, cover, avatar, name, bio, counts, items, item.
 */
export interface VitrineProfileAttributes {
  /** The variant's base address; several, separated by spaces, are tried in turn. Default: the variant's name beside embed.js. */
  base?: string | undefined;
  /** Default: b. */
  variant?: 'a' | 'b' | 'c' | undefined;
  /** The user name. */
  user?: string | undefined;
  /** How many items to show, 0 to 15. Default: 6. */
  items?: number | string | undefined;
  /** `auto` follows the reader's preference. Default: the page's `color-scheme`. */
  theme?: 'light' | 'dark' | 'auto' | undefined;
}

/** Every value of a record is a string. */
type ApiRecord = Readonly<Record<string, string>>;

export interface VitrineProfileEventMap extends HTMLElementEventMap {
  /** The card shows a profile. */
  load: CustomEvent<{ readonly profile: ApiRecord; readonly items: readonly ApiRecord[] }>;
  /** The card shows an error. `error.retry` is false if it will stay, as for an unknown user; then the card collapses. */
  error: ErrorEvent & { readonly error: Error & { readonly retry: boolean } };
}

/** Each attribute is also a property. */
export interface VitrineProfileElement extends HTMLElement {
  get base(): string;
  set base(value: VitrineProfileAttributes['base'] | null);
  get variant(): string;
  set variant(value: VitrineProfileAttributes['variant'] | null);
  get user(): string;
  set user(value: VitrineProfileAttributes['user'] | null);
  get items(): string;
  set items(value: VitrineProfileAttributes['items'] | null);
  get theme(): string;
  set theme(value: VitrineProfileAttributes['theme'] | null);

  addEventListener<Type extends keyof VitrineProfileEventMap>(
    type: Type,
    listener: (this: VitrineProfileElement, event: VitrineProfileEventMap[Type]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | AddEventListenerOptions,
  ): void;
}

declare global {
  interface HTMLElementTagNameMap {
    'vitrine-profile': VitrineProfileElement;
  }
}
