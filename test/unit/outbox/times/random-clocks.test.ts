/**
 * Seeded lives of clocks that step, start wrong and are set right, with restarts and power cuts: each reading has its own time, or says that it
 * is a guess, or waits for it and is counted.
 */
import { afterEach, expect, it } from 'vitest';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { drain, FakeTimeSync, NO_LIMITS, OutboxFixture } from '../../../support/outbox-fixture.ts';

const DAY_MS = 86_400_000;
/** Largest error of a decided time: the time between two boots is not seen, and one without a clock may be off by half of it. */
const DECIDED_WITHIN_MS = 61_000;

let fixture: OutboxFixture;
afterEach(() => fixture.remove());

function randomOf(seed: number): () => number {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}

/** Takes readings, whose true times it knows, and sends them; says what is wrong with what was sent. */
class World {
  readonly random: () => number;
  readonly files = new MemoryFiles({ keepsChanges: false });
  /** True UTC minus ms since boot. */
  trueOffsetMs = 0;
  /** Readings that were sent as a guess, each mark once. */
  marks = 0;
  #outbox!: Awaited<ReturnType<OutboxFixture['open']>>;
  readonly #trueMs = new Map<number, number>();
  readonly #sent = new Map<number, number[]>();
  readonly #marked = new Set<number>();
  #boots = 1;

  constructor(seed: number) {
    this.random = randomOf(seed);
  }

  async begin(settings: Parameters<typeof OutboxFixture.make>[0] = {}): Promise<void> {
    await fixture?.remove();
    fixture = await OutboxFixture.make(settings);
    fixture.files = this.files;
    this.trueOffsetMs = fixture.clock.wallMs() - fixture.clock.monotonicMs();
  }

  async open(): Promise<void> {
    this.#outbox = await fixture.open();
  }

  async take(): Promise<void> {
    const values = [0, 1, 2].map((at) => this.#trueMs.size + at);
    for (const value of values) this.#trueMs.set(value, fixture.clock.monotonicMs() + this.trueOffsetMs);
    await fixture.commit(
      this.#outbox,
      values.map((value) => fixture.entry(`k${value % 3}`, value)),
    );
  }

  async send(limits = NO_LIMITS): Promise<void> {
    const entries = await drain(this.#outbox, limits);
    const marked = new Set(entries.filter(({ key }) => key.endsWith('_timeUncertain')).map(({ sequence }) => sequence));
    this.marks += marked.size;
    for (const { key, value, ts, sequence } of entries) {
      if (key.endsWith('_timeUncertain')) continue;
      this.#sent.set(Number(value), [...(this.#sent.get(Number(value)) ?? []), ts]);
      if (marked.has(sequence)) this.#marked.add(Number(value));
    }
  }

  async restart(isSynchronised: boolean): Promise<void> {
    await fixture.until(this.#outbox.close());
    fixture.timeSync = new FakeTimeSync(isSynchronised);
    await this.open();
  }

  /** Off for so long, and then with a clock that is behind by so much. */
  async reboot(life: {
    readonly isCut: boolean;
    readonly offMs: number;
    readonly behindMs: number;
    readonly isSynchronised: boolean;
  }): Promise<void> {
    if (life.isCut) this.files.cutPower(() => this.random() < 0.7);
    else await fixture.until(this.#outbox.close());
    const trueMs = fixture.clock.monotonicMs() + this.trueOffsetMs + life.offMs;
    this.#boots += 1;
    fixture.clock.reboot({ bootId: `boot-${this.#boots}`, wallMs: Math.round(trueMs - life.behindMs) });
    this.trueOffsetMs = trueMs - fixture.clock.monotonicMs();
    fixture.timeSync = new FakeTimeSync(life.isSynchronised);
    await this.open();
  }

  setClock(): void {
    fixture.clock.stepWall(Math.round(fixture.clock.monotonicMs() + this.trueOffsetMs - fixture.clock.wallMs()));
    fixture.timeSync.become(true);
  }

  faults(withinMs: number): string[] {
    const faults: string[] = [];
    const taken = new Map<string, number>();
    for (const [value, trueMs] of this.#trueMs) {
      const [ts, ...more] = this.#sent.get(value) ?? [];
      if (ts === undefined) continue;
      if (more.some((other) => other !== ts)) faults.push(`${value} has two times`);
      if (Math.abs(ts - trueMs) > withinMs && !this.#marked.has(value))
        faults.push(`${value} is off by ${(ts - trueMs) / 1000} s`);
      const instant = `${value % 3} ${ts}`;
      if (taken.has(instant) && !this.#marked.has(value)) faults.push(`${value} and ${taken.get(instant)} in one ms`);
      taken.set(instant, value);
    }
    const missing = this.#trueMs.size - this.#sent.size;
    const { undecidedEntries } = this.#outbox.status();
    return missing === undecidedEntries
      ? faults
      : [...faults, `${missing} not sent, ${undecidedEntries} said to be undecided`];
  }
}

const SOME = (random: () => number) => ({ ...NO_LIMITS, maxEntries: 1 + Math.floor(random() * 5) });

/** Its clock is believed, and stepped by hours either way: what it says is the truth, from each step on. */
async function liveWithSteps(seed: number, stepAt = 0.17): Promise<World> {
  const world = new World(seed);
  const { random } = world;
  await world.begin({ maxBytes: 600_000 });
  await world.open();
  for (let turn = 0; turn < 60; turn += 1) {
    const drawn = random();
    if (drawn < 0.72 - stepAt) await world.take();
    else if (drawn < 0.72) {
      const byMs = Math.round((random() - 0.4) * 7_200_000);
      if (Math.abs(byMs) < 20_000) continue;
      fixture.clock.stepWall(byMs);
      world.trueOffsetMs += byMs;
      fixture.timeSync.become(true);
      await fixture.clock.advance(70_000);
    } else if (drawn < 0.8) await world.send(SOME(random));
    else if (drawn < 0.85) await world.restart(true);
    else if (drawn < 0.88) await world.reboot({ isCut: false, offMs: 30_000, behindMs: 0, isSynchronised: true });
    else await fixture.clock.advance(Math.floor(random() * 600_000));
  }
  await world.send();
  return world;
}

/** Each boot begins with a clock that is behind by days, which is set right some time, or never. */
async function liveWithWrongStarts(seed: number): Promise<World> {
  const world = new World(seed);
  const { random } = world;
  await world.begin({ maxBytes: 400_000 });
  fixture.clock.stepWall(-50 * DAY_MS);
  fixture.timeSync = new FakeTimeSync(false);
  await world.open();
  for (let turn = 0; turn < 70; turn += 1) {
    const drawn = random();
    if (drawn < 0.5) await world.take();
    else if (drawn < 0.62) {
      if (!fixture.timeSync.isSynchronised()) world.setClock();
    } else if (drawn < 0.72) await world.send(SOME(random));
    else if (drawn < 0.77) await world.restart(fixture.timeSync.isSynchronised());
    else if (drawn < 0.87) {
      const offMs = Math.floor(random() * (random() < 0.5 ? 60_000 : 3_600_000));
      await world.reboot({
        isCut: random() < 0.5,
        offMs,
        behindMs: Math.floor(random() * 30 * DAY_MS),
        isSynchronised: false,
      });
    } else await fixture.clock.advance(Math.floor(random() * 600_000));
  }
  if (!fixture.timeSync.isSynchronised()) world.setClock();
  await world.send();
  return world;
}

const SEEDS = Array.from({ length: 12 }, (_none, at) => at + 1);

it('a clock that steps by hours moves no time of what was taken before', async () => {
  for (const seed of SEEDS) {
    const world = await liveWithSteps(seed);
    expect([world.faults(1_000), world.marks], `seed ${seed}`).toEqual([[], 0]);
  }
});

it('a clock that starts wrong in each boot gives right times once it is set, or none', async () => {
  for (const seed of SEEDS) {
    const world = await liveWithWrongStarts(seed);
    expect([world.faults(DECIDED_WITHIN_MS), world.marks], `seed ${seed}`).toEqual([[], 0]);
  }
});

it('a clock that steps more often than is kept has the oldest called a guess, each of the others right', async () => {
  const world = new World(1);
  await world.begin();
  await world.open();
  for (let turn = 0; turn < 90; turn += 1) {
    await world.take();
    const byMs = turn % 2 === 0 ? 3_600_000 : -1_800_000;
    fixture.clock.stepWall(byMs);
    world.trueOffsetMs += byMs;
    fixture.timeSync.become(true);
    await fixture.clock.advance(1_000);
  }
  await world.send();
  // 91 offsets, of which the 63 newest are kept and the others are one.
  expect([world.faults(1_000), world.marks]).toEqual([[], 3 * 28]);
});
