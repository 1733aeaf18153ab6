// Every text that the pages of people, the directory, feeds and cards say in their own words. A language is one file with all
// of them: the compiler names what a file lacks.

/** A text for a microblog, and one for a portfolio. */
interface ByNoun {
  readonly posts: string;
  readonly shots: string;
}

/** The forms of a plural, as `Intl.PluralRules` names them. `{n}` stands for the number, `{query}` for what was looked for. */
export type Plural = Partial<Record<Intl.LDMLPluralRule, string>> & { readonly other: string };

/** What stands before a link, the link, and what stands behind it. */
type WithLink = readonly [before: string, link: string, after: string];

interface ErrorText {
  readonly title: string;
  readonly lead: string;
}

export interface Words {
  // The frame of every page.
  readonly skip: string;
  readonly site: string;
  readonly pages: string;
  readonly toStart: string;
  // Of a person.
  readonly verified: string;
  readonly tags: string;
  readonly counts: Readonly<
    Record<'posts' | 'shots' | 'followers' | 'following' | 'favourites' | 'likes', string>
  >;
  readonly latest: ByNoun;
  /** `{name}` is the person. */
  readonly latestOf: ByNoun;
  readonly older: ByNoun;
  readonly olderOf: ByNoun;
  readonly newer: ByNoun;
  readonly none: ByNoun;
  readonly more: string;
  readonly less: string;
  readonly card: WithLink;
  readonly developers: WithLink;
  // Of an item.
  readonly untitled: string;
  readonly post: string;
  readonly photo: string;
  /** `{title}` is the item. */
  readonly photoOf: string;
  readonly itemBy: string;
  readonly kinds: Readonly<Record<'Buy' | 'File' | 'Video' | 'Audio', string>>;
  readonly price: string;
  readonly free: string;
  readonly undated: string;
  readonly newerItem: string;
  readonly olderItem: string;
  readonly all: ByNoun;
  readonly moreBy: string;
  // Feeds.
  readonly follow: string;
  readonly followHint: string;
  readonly followName: string;
  readonly feedsAre: ByNoun;
  readonly feedsHave: ByNoun;
  readonly feedReaders: string;
  readonly feedApp: string;
  readonly copy: string;
  readonly copied: string;
  readonly notCopied: string;
  // The directory.
  readonly people: string;
  readonly everybodyByName: string;
  readonly everybody: string;
  readonly nameLabel: string;
  readonly find: string;
  readonly found: Plural;
  readonly foundFirst: string;
  readonly foundNone: string;
  readonly peopleByName: Plural;
  readonly nobodyYet: string;
  readonly nobodyFurther: string;
  readonly families: Readonly<Record<'microblog' | 'portfolio', string>>;
  readonly letters: string;
  readonly previousPage: string;
  readonly nextPage: string;
  // What is not there. `{name}` is a user name.
  readonly noUser: string;
  readonly checkSpelling: string;
  readonly checkSpellingOr: string;
  readonly removed: string;
  readonly takenDown: string;
  readonly takenDownOr: string;
  readonly maybeRemoved: string;
  readonly whosePage: string;
  readonly somePeople: string;
  readonly endsWithName: string;
  readonly errors: Readonly<
    Record<
      'ROUTE_NOT_FOUND' | 'USER_NOT_FOUND' | 'USER_GONE' | 'RATE_LIMITED' | 'OVERLOADED' | 'NOT_READY',
      ErrorText
    >
  >;
  /** `lead` is what stands before and behind the command. */
  readonly noData: { readonly title: string; readonly lead: readonly [before: string, after: string] };
}
