// Thrown when a worker could not start. It has reported why itself, so nothing more is printed.

export class WorkerFailed extends Error {
  readonly exitCode: number;
  constructor(exitCode: number) {
    super('a worker could not start');
    this.exitCode = exitCode;
  }
}
