// What is said of a worker that could not even start: nothing more, for it has said why.

export class WorkerFailed extends Error {
  readonly exitCode: number;
  constructor(exitCode: number) {
    super('a worker could not start');
    this.exitCode = exitCode;
  }
}
