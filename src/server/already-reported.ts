// A worker that did not start has said why: the command ends with its exit code, and says nothing more.
export class AlreadyReported extends Error {
  readonly exitCode: number;
  constructor(exitCode: number) {
    super('reported already');
    this.exitCode = exitCode;
  }
}
