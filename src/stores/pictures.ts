// What pages need to know of a copy of a picture, as it stands in the rows of `media`.

/** What pages need to know of a copy. */
export interface PictureFacts {
  /** In pixels; 0 if it cannot be measured. */
  readonly width: number;
  readonly height: number;
  /** The mean colour as `rrggbb`; null where the picture lets its background through. */
  readonly color: string | null;
  /** The widths of its small WebP files. */
  readonly small: readonly number[];
}

export interface PictureRow extends Omit<PictureFacts, 'small'> {
  readonly file: string;
  readonly small: string | null;
}

export const factsByFile = (rows: readonly PictureRow[]): ReadonlyMap<string, PictureFacts> =>
  new Map(rows.map(({ file, small, ...facts }) => [file, { ...facts, small: readWidths(small) }]));

/** The widths as they stand in a row. */
export const readWidths = (small: string | null) => (small ? small.split(' ').map(Number) : []);
