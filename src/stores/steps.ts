// How long work says what it is doing: a listener is called as each step begins.

/** What is known of a step, beside its name. */
export interface StepSize {
  /** Bytes that it reads or writes: many of them take long. */
  readonly bytes?: number | undefined;
  /** The file that it fills. */
  readonly file?: string | undefined;
  /** ETags that it makes. */
  readonly etags?: number | undefined;
}

/** How many ETags SQL has made in this process. Another thread can read it while SQL runs. */
export const madeEtags = new Int32Array(new SharedArrayBuffer(4));

export type StepListener = (name: string, size?: StepSize) => void;

/** For a step of unknown size, such as what a PostgreSQL server does. */
export const UNKNOWN_SIZE: StepSize = { bytes: Number.POSITIVE_INFINITY };

/** Called with what share of the work is done. */
export type ShareListener = (share: number) => void;

export const noStep: StepListener = () => {};
