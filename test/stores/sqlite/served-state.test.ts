// What a server makes of each look at the path of its file.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { NoDataError, StoreError } from '../../../src/stores/errors.ts';
import { readStats } from '../../../src/stores/sqlite/file.ts';
import { type FoundFile, nextState, type ServedState } from '../../../src/stores/sqlite/served-state.ts';
import { fixture, tempFolder } from '../../support/files.ts';

type State = ServedState<string>;
type Found = FoundFile<string>;

const MISSING = readStats(join(tempFolder(), 'none'));
const PRESENT = readStats(fixture('examples.json'));
const NO_DATA = new NoDataError('There is no data.');
const DAMAGE = new StoreError('It is damaged.');

const refused = (stats: typeof MISSING, error: Error): Found => ({ is: 'refused', stats, error });
const refusal = (stats: typeof MISSING, error: Error, looks: number) => ({ stats, error, looks });

const START: State = { name: 'waiting' };
const waiting = (looks: number): State => ({ name: 'waiting', refused: refusal(MISSING, NO_DATA, looks) });
const SERVING: State = { name: 'serving', served: 'a' };
const held = (looks: number): State => ({
  name: 'held',
  served: 'a',
  refused: refusal(PRESENT, DAMAGE, looks),
});

const opened = (is: 'in place' | 'another', name: string): Found => ({ is, opened: name });
const serving = (served: string): State => ({ name: 'serving', served });

const UNTIL = 'Until then, every lookup is answered with 503.';
const STAYS = 'The data before stays.';

test.each<[string, State, Found, State, string | undefined]>([
  ['a start with data', START, opened('another', 'a'), SERVING, undefined],
  ['a start without data', START, refused(MISSING, NO_DATA), waiting(1), undefined],
  [
    'a second look',
    waiting(1),
    refused(MISSING, NO_DATA),
    waiting(2),
    `data-warning: There is no data. ${UNTIL}`,
  ],
  ['a third look', waiting(2), refused(MISSING, NO_DATA), waiting(3), undefined],
  [
    'the first data',
    waiting(2),
    opened('another', 'a'),
    SERVING,
    'data-changed: there is data now, and it is served',
  ],
  ['the file in its place', SERVING, opened('in place', 'a'), SERVING, undefined],
  ['the file opened again', SERVING, opened('in place', 'b'), serving('b'), undefined],
  [
    'another file',
    SERVING,
    opened('another', 'b'),
    serving('b'),
    'data-swapped: another file took the place of the data',
  ],
  ['a damaged file', SERVING, refused(PRESENT, DAMAGE), held(1), undefined],
  ['damage that stays', held(1), refused(PRESENT, DAMAGE), held(2), `data-fault: It is damaged. ${STAYS}`],
  ['damage that was logged', held(2), refused(PRESENT, DAMAGE), held(3), undefined],
  ['the file put back', held(2), opened('in place', 'a'), SERVING, undefined],
  [
    'a sound file after it',
    held(2),
    opened('another', 'b'),
    serving('b'),
    'data-swapped: another file took the place of the data',
  ],
  [
    'another fault of the same file',
    held(2),
    refused(PRESENT, NO_DATA),
    { name: 'held', served: 'a', refused: refusal(PRESENT, NO_DATA, 1) },
    undefined,
  ],
  [
    'the same fault of another file',
    held(2),
    refused(MISSING, DAMAGE),
    { name: 'held', served: 'a', refused: refusal(MISSING, DAMAGE, 1) },
    undefined,
  ],
])('%s', (_, state, found, next, line) => {
  const result = nextState(state, found);
  expect(result.state).toEqual(next);
  expect(result.log && `${result.log.type}: ${result.log.message}`).toBe(line);
});

test('a fault of the program is logged with its stack', () => {
  const error = new Error('unexpected');
  const state: State = { ...SERVING, name: 'held', refused: refusal(PRESENT, error, 1) };
  expect(nextState(state, refused(PRESENT, error)).log?.message).toBe(`${error.stack} ${STAYS}`);
});
