// The connections that the lookups of a host go through: a few, each taking many queries without waiting for answers.
//
// Not a pg.Pool, which lends a connection to one query at a time: with a round trip of 2 ms and as many connections it
// answers an eighth of the lookups (node test/bench/pipeline.ts).
import type pg from 'pg';
import { type Client, drop, end, type ReadingSession, type Row, startReading } from './connect.ts';

/** From memory, one would do as well; several do not wait for each other's reads from disk. */
const LANES = 4;

interface Lane {
  readonly client: Client;
  readonly session: Promise<ReadingSession>;
  /** How many queries are on their way. */
  busy: number;
}

export type Lanes = ReturnType<typeof createLanes>;

export function createLanes(newClient: () => Client) {
  const lanes = new Set<Lane>();
  let most = LANES;

  function open(): Lane {
    const client = newClient();
    const lane: Lane = { client, session: startReading(client), busy: 0 };
    lanes.add(lane);
    client.once('end', () => lanes.delete(lane));
    return lane;
  }

  /** An idle lane, else one more, else the one with the least to do. */
  function choose(): Lane {
    let best: Lane | undefined;
    for (const lane of lanes) if (best === undefined || lane.busy < best.busy) best = lane;
    return best === undefined || (best.busy > 0 && lanes.size < most) ? open() : best;
  }

  /** The server may have no connection to spare: then those that are open have to do. */
  function giveUp(lane: Lane): boolean {
    lanes.delete(lane);
    most = Math.max(lanes.size, 1);
    return lanes.size > 0;
  }

  async function query(asked: pg.QueryConfig): Promise<Row[]> {
    const lane = choose();
    lane.busy++;
    try {
      const session = await lane.session.catch((error) => {
        if (giveUp(lane)) return undefined;
        throw error;
      });
      return session === undefined ? await query(asked) : await session.query(asked);
    } finally {
      lane.busy--;
    }
  }

  return {
    query,

    /** Gives up all connections; their queries fail. */
    drop(): void {
      for (const { client } of lanes) drop(client);
      lanes.clear();
      most = LANES;
    },

    async close(): Promise<void> {
      await Promise.all([...lanes].map(({ client }) => end(client)));
    },
  };
}
