// A file that cannot be imported at all, and why: one sentence for the operator.
export class FormatError extends Error {
  override name = 'FormatError';
}

/** The file is empty or blank. */
export class NoContentError extends FormatError {
  override name = 'NoContentError';

  constructor() {
    super('there are no records in it');
  }
}
