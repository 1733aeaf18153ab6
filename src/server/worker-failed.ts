// Thrown when a worker could not start. It has reported why itself, so nothing more is printed.

export class WorkerFailed extends Error {
  readonly exitCode: number;
  constructor(exitCode: number) {
    super('a worker could not start');
    // A worker that was stopped has not failed by itself, but it does not serve either.
    this.exitCode = exitCode || 1;
  }
}
