// Records and bodies of the API. Every value is a string, as in the responses.

/** A profile of the microblog family. */
export interface MicroblogProfile {
  /** Number of followers. */
  totalFollowers: string;
  /** Number of accounts followed. */
  totalFollowing: string;
  /** Number of favourites. */
  totalFavs: string;
  /** Number of posts. */
  totalPost: string;
  /** User identifier. */
  id: string;
  /** The user name. */
  username: string;
  /** Display name. */
  name: string;
  /** Free-text location. */
  location: string;
  /** Short lowercase country code. */
  country: string;
  /** User's web link. */
  website: string;
  /** Free-text biography. */
  bio: string;
  /** Avatar image. */
  avatar: string;
  /** Large avatar image. */
  avatar_large: string;
  /** Verification flag, as the site set it: usually `1` when the account is verified; `0` when it set none. */
  verified: string;
  /** Cover image. */
  cover_image: string;
  /** Large cover image. */
  cover_large: string;
}

/** A post of the microblog family. */
export interface Post {
  /** Record identifier. */
  id: string;
  /** Opaque identifier of the post. */
  token_id: string;
  /** Text of the post. */
  post_details: string;
  /** Attached photo. */
  photo: string;
  /** Identifier of an attached video at its host. */
  video_code: string;
  /** Title of the attached video. */
  video_title: string;
  /** Lowercase name of the video host. */
  video_site: string;
  /** Link to the video. */
  video_url: string;
  /** Identifier of the owning user. */
  user: string;
  /** Record status flag, as the site set it; `0` when it set none. */
  status: string;
  /** Thumbnail of the video. */
  video_thumbnail: string;
  /** Creation time, in UTC. */
  date: string;
  /** General status flag, as the site set it; `0` when it set none. */
  status_general: string;
  /** Link to attached audio; empty string when none. */
  url_audio: string;
  /** Title of attached audio; empty string when none. */
  title_audio: string;
  /** Audio thumbnail; empty string when none. */
  thumbnail_song: string;
}

/** A profile of the portfolio family. */
export interface PortfolioProfile {
  /** Number of followers. */
  totalFollowers: string;
  /** Number of accounts followed. */
  totalFollowing: string;
  /** Number of likes. */
  Likes: string;
  /** Number of shots. */
  totalShots: string;
  /** Number of lists. */
  Lists: string;
  /** Number of lists the user is on. */
  Listed: string;
  /** Number of projects. */
  Projects: string;
  /** User identifier. */
  id: string;
  /** The user name. */
  username: string;
  /** Display name. */
  name: string;
  /** Free-text location. */
  location: string;
  /** Link to the user's social-network page. */
  social_link: string;
  /** User's web link. */
  website: string;
  /** Free-text biography. */
  bio: string;
  /** Comma-separated list of skill words. */
  skills: string;
  /** Avatar image. */
  avatar: string;
  /** Account type code, as the site set it; `0` when it set none. */
  type_account: string;
  /** Cover image. */
  cover_image: string;
}

/** A shot of the portfolio family. */
export interface Shot {
  /** Record identifier. */
  id: string;
  /** Project identifier; "0" when the shot belongs to no project. */
  id_project: string;
  /** Project creation time, in UTC; 0000-00-00 00:00:00 when there is no project. */
  created_project: string;
  /** Shot image. */
  image: string;
  /** Large shot image. */
  large_image: string;
  /** Opaque identifier of the shot. */
  token_id: string;
  /** Free-text description. */
  description: string;
  /** Title. */
  title: string;
  /** Identifier of the owning user. */
  user_id: string;
  /** Record status flag, as the site set it; `0` when it set none. */
  status: string;
  /** Comma-separated list of tags. */
  tags: string;
  /** Creation time, in UTC. */
  date: string;
  /** Attached file. */
  attachment: string;
  /** Purchase link; empty string when none. */
  url_purchased: string;
  /** Price, as the site wrote it, without a currency of its own; empty string when none. */
  price_item: string;
}

/** The list of variant A: the newest 15, newest first. */
export interface ItemsA {
  posts: Post[];
}

/** The list of variant B: the newest 15, newest first. */
export interface ItemsB {
  Shots: Shot[];
}

/** The list of variant C: the newest 15, newest first. */
export interface ItemsC {
  Posts: Shot[];
}

export type ErrorCode =
  | 'USER_MISSING'
  | 'USER_REPEATED'
  | 'USER_MALFORMED'
  | 'POST_MALFORMED'
  | 'BAD_ESCAPE'
  | 'QUERY_MALFORMED'
  | 'BAD_REQUEST'
  | 'PROXY_PROTOCOL'
  | 'HOST_MISSING'
  | 'USER_NOT_FOUND'
  | 'ROUTE_NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'REQUEST_TIMEOUT'
  | 'USER_GONE'
  | 'URI_TOO_LONG'
  | 'USER_TOO_LONG'
  | 'RANGE_NOT_SATISFIABLE'
  | 'EXPECTATION_FAILED'
  | 'RATE_LIMITED'
  | 'HEADERS_TOO_LARGE'
  | 'INTERNAL'
  | 'FORMAT_UNKNOWN'
  | 'OVERLOADED'
  | 'NOT_READY';

/** The body of every answer that is not a success. */
export interface ApiError {
  /** The HTTP status, as decimal digits. */
  statusCode: string;
  /** The kind of error, for programs. */
  code: ErrorCode;
  /** The standard phrase of the status. */
  error: string;
  /** What to do about it, for people. */
  message: string;
}
