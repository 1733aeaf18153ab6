// Adds each entry of the files to the load, or to the faults.
import type { Entry } from '../formats/entry.ts';
import { type Family, KINDS } from '../records/kinds.ts';
import type { Mender } from '../records/mending.ts';
import { type RawRecord, recogniseKind } from '../records/recognise.ts';
import { createPlaceholders } from '../records/row.ts';
import type { Load } from '../stores/load.ts';
import type { FaultReport } from './faults.ts';
import type { Warnings } from './report.ts';
import type { createUnused } from './unused.ts';

interface Adding {
  readonly load: Load;
  readonly report: FaultReport;
  readonly warnings: Warnings;
  readonly unused: ReturnType<typeof createUnused>;
  readonly mender: Mender;
  readonly skipInvalid: boolean;
  /** The family of profiles that fit both. */
  readonly family?: Family | undefined;
}

type RawEntry = Extract<Entry, { readonly value: RawRecord }>;

interface Waiting {
  readonly entry: RawEntry;
  readonly place: number;
}

/** Profiles that fit both families wait for the first record that tells one, as long as they take less text than this. */
const MOST_WAITING = 4 * 1024 * 1024;

export class Adder {
  readonly #to: Adding;
  #family: Family | undefined;
  readonly #waiting: Waiting[] = [];
  #waitingLength = 0;

  constructor(to: Adding) {
    this.#to = to;
    this.#family = to.family;
  }

  add(entry: Entry, place: number): void | Promise<void> {
    if ('problem' in entry)
      return this.#to.report.entry(place, entry, [{ member: 'record', reason: entry.problem, got: '' }]);
    if (this.#family === undefined && this.#waitingLength < MOST_WAITING) return this.#settle(entry, place);
    return this.#addKnown(entry, place);
  }

  #addKnown(entry: RawEntry, place: number): void | Promise<void> {
    const { load, report, warnings, unused, mender } = this.#to;
    const result = mender.normalise(entry.value, entry.kind, this.#family);
    if ('faults' in result) {
      report.entry(place, entry, result.faults);
      return this.#addPlaceholders(entry.value, place);
    }
    unused.look(entry.value, result.row.kind);
    warnings.look(result.row, entry.value, place);
    return load.add(result.row, place);
  }

  /** Adds what still waits, after the last file. */
  async end(): Promise<void> {
    if (this.#family === undefined)
      for (const { entry, place } of this.#waiting) await this.#addKnown(entry, place);
  }

  /** The order of the files is kept: of two records with the same id, the last one counts. */
  async #settle(entry: RawEntry, place: number): Promise<void> {
    const recognised = entry.kind === undefined ? recogniseKind(entry.value) : { kind: entry.kind };
    if ('reason' in recognised && recognised.isAmbiguous) {
      this.#waitingLength += entry.text().length;
      this.#waiting.push({ entry, place });
      return;
    }
    if ('reason' in recognised) return await this.#addKnown(entry, place);
    this.#family = KINDS[recognised.kind].family;
    for (const one of this.#waiting) await this.#addKnown(one.entry, one.place);
    await this.#addKnown(entry, place);
  }

  /** In an import that is refused anyway, the items of a faulty profile are not reported as well. */
  async #addPlaceholders(source: RawRecord, place: number): Promise<void> {
    if (this.#to.skipInvalid) return;
    for (const row of createPlaceholders(source, this.#family)) await this.#to.load.add(row, place);
  }
}
