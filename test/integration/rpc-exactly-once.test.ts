/**
 * Exactly once, judged by the board: two-way pulses, one after the other, while the agent is killed at named points and at random, and replies
 * get lost. Then the same of the whole agent, killed at random only. `CAMPAIGN=full` runs 1,000 and 200 of them.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { RemoteBench, type RpcOutcome } from '../support/remote-bench.ts';

const REQUESTS = process.env.CAMPAIGN === 'full' ? 1_000 : 60;
const REQUESTS_TO_WHOLE_AGENT = process.env.CAMPAIGN === 'full' ? 200 : 10;
const KILL_AT = { 'before-intent': 0.05, 'after-intent': 0.05, 'after-movement': 0.05, 'after-reply': 0.05 } as const;
const RANDOM_KILL = 0.1;
const RANDOM_KILL_OF_WHOLE_AGENT = 0.3;
const LOST_REPLY = 0.1;
const RELAY_LINE = 17;
const isReply = (method: string, path: string): boolean => method === 'POST' && /\/rpc\/\d+$/.test(path);

interface Count {
  moved: number;
  uncertain: number;
  uncertainMoved: number;
  refused: number;
  unanswered: number;
}

const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** As systemd: what has died is started again, until it is told to end. */
class Supervisor {
  readonly bench: RemoteBench;
  readonly #start: () => Promise<void>;
  #starts = 0;
  #ended = false;
  #running: Promise<void>;

  constructor(bench: RemoteBench, start: () => Promise<void>) {
    this.bench = bench;
    this.#start = start;
    this.#running = this.#run();
  }

  async untilRunning(): Promise<void> {
    while (this.#starts === 0 || this.bench.agentEnd !== undefined) await delay(5);
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.bench.killAgent();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#ended) {
      if (this.#starts === 0 || this.bench.agentEnd !== undefined) {
        this.#starts += 1;
        // A random kill may hit a start, too.
        await this.#start().catch(() => {});
      }
      await delay(5);
    }
  }
}

let bench: RemoteBench;
beforeEach(async () => {
  bench = await RemoteBench.open({ platform: { stalePollMs: 50 } });
});
afterEach(() => bench.close());

async function campaign(
  supervisor: Supervisor,
  requests: number,
  randomKill: number,
): Promise<Count & { randomKills: number; risings: number }> {
  const count: Count = { moved: 0, uncertain: 0, uncertainMoved: 0, refused: 0, unanswered: 0 };
  let risings = 0;
  let randomKills = 0;
  for (let request = 0; request < requests; request += 1) {
    await supervisor.untilRunning();
    if (Math.random() < LOST_REPLY)
      bench.platform.faults.plant({ kind: Math.random() < 0.5 ? 'drop' : 'lose-answer' }, { matches: isReply });
    const answering = bench.rpc('pulse', { name: 'relay1', durationMs: 5 + (request % 20) }, 60_000);
    if (Math.random() < randomKill) {
      await delay(Math.random() * 60);
      randomKills += 1;
      await bench.killAgent();
    }
    const outcome = await answering;
    // A movement that was still under way when the platform gave up counts for this request.
    if (outcome.status === 504) await delay(1_000);
    const now = await bench.moves(RELAY_LINE, 1);
    judge(outcome, now - risings, count);
    risings = now;
  }
  await supervisor.untilRunning();
  expect(await bench.moves(RELAY_LINE, 1)).toBe(risings);
  expect(count.moved + count.uncertain + count.refused + count.unanswered).toBe(requests);
  expect([count.refused, count.unanswered]).toEqual([0, 0]);
  return { ...count, randomKills, risings };
}

it(
  'never moves a relay twice, whatever the moment of a kill',
  async () => {
    const supervisor = new Supervisor(bench, () => bench.startAgent({ killAt: KILL_AT }));
    try {
      const outcome = await campaign(supervisor, REQUESTS, RANDOM_KILL);
      const killed = (point: string): number => bench.agentLog.split(`killed ${point}`).length - 1;
      const kills = Object.fromEntries(Object.keys(KILL_AT).map((point) => [point, killed(point)]));
      console.log(JSON.stringify({ total: REQUESTS, ...outcome, kills }));
      expect(outcome.uncertain).toBeLessThanOrEqual(
        killed('after-intent') + killed('after-movement') + outcome.randomKills,
      );
    } finally {
      await supervisor.end();
    }
  },
  60_000 + REQUESTS * 1_000,
);

it(
  'never moves a relay twice with the whole agent either',
  async () => {
    const relay = { name: 'relay1', kind: 'gpio-output', line: `GPIO${RELAY_LINE}`, safe: { start: false } };
    const config = { sensors: [{ name: 'host', kind: 'host', period: '1s' }], actuators: [relay] };
    const supervisor = new Supervisor(bench, () => bench.startWholeAgent(config));
    try {
      const outcome = await campaign(supervisor, REQUESTS_TO_WHOLE_AGENT, RANDOM_KILL_OF_WHOLE_AGENT);
      console.log(JSON.stringify({ wholeAgent: true, total: REQUESTS_TO_WHOLE_AGENT, ...outcome }));
      expect(outcome.uncertain).toBeLessThanOrEqual(outcome.randomKills);
    } finally {
      await supervisor.end();
    }
  },
  60_000 + REQUESTS_TO_WHOLE_AGENT * 10_000,
);

function judge({ status, reply }: RpcOutcome, moves: number, count: Count): void {
  const said = JSON.stringify({ status, reply, moves });
  expect(moves, said).toBeLessThanOrEqual(1);
  if (status === 504) count.unanswered += 1;
  else if (reply.error?.code === 'outcome-unknown') {
    count.uncertain += 1;
    count.uncertainMoved += moves;
  } else if (reply.error !== undefined) {
    expect(moves, said).toBe(0);
    count.refused += 1;
  } else {
    expect(moves, said).toBe(1);
    count.moved += 1;
  }
}
