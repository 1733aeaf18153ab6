// How long work says what it is doing.

/** Called as a step begins, and again while it goes on. `share` of the step is done, from 0 to 1, where that is known. */
export type StepListener = (name: string, share?: number) => void;

export const noStep: StepListener = () => {};
