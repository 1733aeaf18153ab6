// Where an owner's items lie: behind the owner's place, newest first, in slots with gaps for those that come late.
import type { Family } from '../../records/kinds.ts';
import { StoreError } from '../store.ts';
import { LAST_SLOT } from './places.ts';
import type { Connection } from './sqlite.ts';

/** Lists grow at their newer end, mostly; some have older items added. */
const MIDDLE = 2 ** 31;
const STEP = 64;
/** So many items of a list are looked at at once. */
const PAGE = 256;
/** So many new items between two old ones, or bytes of them, are laid down at once. */
const LONGEST_RUN = 4096;
const LARGEST_RUN = 2 << 20;

/** What items are ordered by. */
export interface ItemKey {
  readonly date: number | bigint;
  readonly id: number | bigint;
}

/** Its record stands in `bytes`, which may be lent until the next one is asked for. */
export interface NewItem extends ItemKey {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** An item that is there. */
interface Listed extends ItemKey {
  readonly slot: number;
}

export interface ListTasks {
  /** An item that has no slot yet, and that which it gets. */
  readonly lay: (list: number, slot: number, item: NewItem) => void;
  /** Carries out what was asked for so far, before items move. */
  readonly settle: () => void;
}

const isNewer = (a: ItemKey, b: ItemKey) => a.date > b.date || (!(a.date < b.date) && a.id > b.id);

export type List = ReturnType<ReturnType<typeof createLists>>;

export function createLists(db: Connection, { lay, settle }: ListTasks) {
  // Ids are text where a number would not be exact: big integers for all of them would be slower.
  const following = db
    .prepare(
      `SELECT place & ${LAST_SLOT}, date, iif(id > ${Number.MAX_SAFE_INTEGER}, CAST(id AS TEXT), id) FROM items
       WHERE place BETWEEN @list << 32 | @slot AND @list << 32 | ${LAST_SLOT} ORDER BY place LIMIT ${PAGE}`,
    )
    .raw();
  const itemsFrom = (list: number, slot: number): Listed[] =>
    (following.all({ list, slot }) as [number, number, number | string][]).map(([slot, date, id]) => {
      const exact = typeof id === 'string' ? BigInt(id) : id;
      return { slot, date, id: exact };
    });
  const makeRoom = db.prepare(
    // Numbers are bound as floating point, which is too coarse for places.
    'UPDATE items SET place = place - CAST(@room AS INTEGER) WHERE place BETWEEN @list << 32 AND @list << 32 | @last',
  );

  /** The list of one owner, to be gone through from the newest item on. */
  return function openList(list: number, { isEmpty }: { isEmpty: boolean }) {
    let page: Listed[] = [];
    let at = 0;
    let atEnd = isEmpty;
    let passed: number | undefined;
    let run: NewItem[] = [];
    let runBytes = 0;

    function next() {
      if (at === page.length && !atEnd) {
        page = itemsFrom(list, (page.at(-1)?.slot ?? -1) + 1);
        at = 0;
        atEnd = page.length < PAGE;
      }
      return page[at];
    }

    function pass(): void {
      layRun();
      passed = page[at++]?.slot;
    }

    /** Lays down the new items between the last that was passed and the next. */
    function layRun(): void {
      if (run.length === 0) return;
      const after = next();
      const [first, step] = roomFor(run.length, after?.slot);
      const items = run;
      run = [];
      runBytes = 0;
      for (const [nth, item] of items.entries()) layAt(first + nth * step, item);
    }

    function roomFor(count: number, after: number | undefined): [first: number, step: number] {
      if (after === undefined) return [passed === undefined ? MIDDLE : passed + STEP, STEP];
      if (passed === undefined) return [after - count * STEP, STEP];
      if (after - passed <= count) {
        settle();
        const room = count * STEP;
        const [newest] = following.get({ list, slot: 0 }) as [number];
        if (newest < room) throw full(list);
        makeRoom.run({ list, last: passed, room });
        passed -= room;
      }
      const step = Math.floor((after - passed) / (count + 1));
      return [passed + step, step];
    }

    function layAt(slot: number, item: NewItem): void {
      if (slot < 0 || slot >= LAST_SLOT) throw full(list);
      lay(list, slot, item);
      passed = slot;
    }

    return {
      /** The slot of an item that is there; items have to be asked for newest first. */
      find(item: ItemKey): number | undefined {
        for (let other = next(); other !== undefined; other = next()) {
          if (isNewer(item, other)) return undefined;
          pass();
          if (!isNewer(other, item)) return passed;
        }
        return undefined;
      },
      /** Adds an item that was not found. */
      add(item: NewItem): void {
        if (next() === undefined) {
          layRun();
          layAt(passed === undefined ? MIDDLE : passed + STEP, item);
        } else {
          const bytes = Buffer.from(item.bytes.subarray(item.start, item.end));
          run.push({ ...item, bytes, start: 0, end: bytes.length });
          runBytes += bytes.length;
          if (run.length === LONGEST_RUN || runBytes > LARGEST_RUN) layRun();
        }
      },
      close: layRun,
    };
  };
}

const full = (list: number) =>
  new StoreError(
    `One user has more items than fit into a list: the one whose profile has the place ${list}.`,
  );

/** Takes items away that are known by their family and id; what their keys say must be true still. */
export function createItemDropper(db: Connection) {
  const whereabouts = db
    .prepare(
      `SELECT profiles.place AS list, item_keys.date, item_keys.id FROM item_keys
       JOIN profiles ON profiles.family = item_keys.family AND profiles.id = item_keys.owner
       WHERE item_keys.family = ? AND item_keys.id = ?`,
    )
    .safeIntegers();
  const within = (order: 'ASC' | 'DESC') =>
    db
      .prepare(
        `SELECT place, date, id FROM items WHERE place BETWEEN ? AND ? ORDER BY place ${order} LIMIT 1`,
      )
      .safeIntegers();
  const [firstWithin, lastWithin] = [within('ASC'), within('DESC')];
  const drop = db.prepare('DELETE FROM items WHERE place = ?');

  type Found = { place: bigint; date: bigint; id: bigint } | undefined;

  /** The list is halved until the item is found. */
  function placeOf(list: bigint, key: ItemKey): bigint | undefined {
    let from = list << 32n;
    let to = from | BigInt(LAST_SLOT);
    to = (lastWithin.get(from, to) as Found)?.place ?? -1n;
    from = (firstWithin.get(from, to) as Found)?.place ?? 0n;
    while (from <= to) {
      const middle = (from + to) / 2n;
      const found = firstWithin.get(middle, to) as Found;
      if (found === undefined || isNewer(key, found)) to = middle - 1n;
      else if (isNewer(found, key)) from = found.place + 1n;
      else return found.place;
    }
    return undefined;
  }

  /** An item whose owner is gone went with the owner. */
  return (family: Family, id: number | bigint): void => {
    const at = whereabouts.get(family, id) as { list: bigint; date: bigint; id: bigint } | undefined;
    const place = at && placeOf(at.list, at);
    if (place !== undefined) drop.run(place);
  };
}
