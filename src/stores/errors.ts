// Faults of the data or the database, for the operator.
import { printable } from '../records/printable.ts';

/** A fault of the data or the database, as a sentence for the operator. */
export class StoreError extends Error {
  override name = 'StoreError';
  constructor(message: string, options?: ErrorOptions) {
    super(printable(message), options);
  }
}

/** There is nothing to serve yet. The sentence says which command ends that. */
export class NoDataError extends StoreError {}

/** The database cannot be reached, or is busy. That says nothing of its data. */
export class UnavailableError extends StoreError {}

/** Whether the data cannot be read, rather than the program being wrong. */
export const isDataFault = (error: unknown) =>
  error instanceof StoreError || (error instanceof Error && error.name === 'SqliteError');

/** Whether there is data that may be damaged. */
export const isUnreadable = (error: unknown) =>
  isDataFault(error) && !(error instanceof NoDataError) && !(error instanceof UnavailableError);
