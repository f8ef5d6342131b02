/**
 * Witness for words: looks at a running agent every few seconds, and holds what status, readiness and alerts say against what is so outside. It knows
 * only what passed the line, what the board shows, and what was called durable.
 */

import { readinessOf } from '../../src/status/platform-status.ts';
import type { AgentStatus } from '../../src/status/shape/agent-status.ts';
import { isOnAt } from './witness/intervals.ts';
import { seconds } from './witness/sentence.ts';
import type { World } from './world.ts';

const LOOK_EVERY_MS = 20_000;
/** A standing poll, its margin and a call's time-out: until then nobody can know that the line is gone. */
const SILENCE_KNOWN_MS = 100_000;
/** From an exchange's end to the words of it. */
const SAID_WITHIN_MS = 1_000;
/** A reading's way to the platform: its commit, the interval, a slow answer. */
const DELIVERED_WITHIN_MS = 90_000;
/** An output that moved, or could not be moved or asked, less ago may be told otherwise. */
const SETTLED_MS = 60_000;
/** A sensor that was not read for so many periods, and so long, does not work. */
const PERIODS = 4;
const MAX_LIES = 20;
/** A plot of the last hour. */
const PLOT_MS = 3_600_000;
const PLOTTED_KEYS = 4;

export class Words {
  /** Words that were not so, each with when. */
  readonly lies: string[] = [];
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
    this.#lookLater();
  }

  #lookLater(): void {
    this.#world.timeline.after(LOOK_EVERY_MS, () => {
      this.#look();
      this.#lookLater();
    });
  }

  #look(): void {
    const world = this.#world;
    const { life, timeline } = world;
    if (life?.agent === undefined || life.isDead || this.lies.length >= MAX_LIES) return;
    const status = life.agent.status();
    const sinceMs = timeline.nowMs - (status.nowMs - status.startedAtMs);
    for (const lie of [
      ...this.#ofContact(status, sinceMs),
      ...this.#ofBacklog(status, sinceMs),
      ...this.#ofOutputs(status),
      ...this.#ofSensors(status),
      ...this.#ofPage(status),
    ])
      this.lies.push(`at ${seconds(timeline.nowMs)} ${lie}`);
  }

  *#ofContact({ platform, outbox, timeSynchronised }: AgentStatus, sinceMs: number): Generator<string> {
    const { nowMs } = this.#world.timeline;
    const { answeredAtMs, spokeAtMs, failedAtMs, uploadedAtMs } = this.#world.network.outcomes;
    const silentMs = nowMs - Math.max(answeredAtMs, spokeAtMs, sinceMs);
    const isReady = readinessOf({ platform, outbox, timeSynchronised }).ok;
    if (platform.state === 'reached' && silentMs > SILENCE_KNOWN_MS)
      yield `the platform is said to be reached, and was silent for ${seconds(silentMs)}`;
    // The platform answers attached devices whatever it says of the gateway's own token.
    const isOwnRefusal = platform.state === 'refused' && this.#world.site.attached.length > 0;
    if (
      platform.state !== 'reached' &&
      !isOwnRefusal &&
      answeredAtMs > Math.max(failedAtMs, sinceMs) &&
      nowMs - answeredAtMs > SAID_WITHIN_MS
    )
      yield `the platform is said to be ${platform.state} (${platform.words}), and answered at ${seconds(answeredAtMs)}`;
    if (platform.verdict !== 'good' && !isReady) return;
    const words = isReady ? 'it is said to be ready' : 'it is said to be up to date';
    if (uploadedAtMs < sinceMs) yield `${words}, and nothing was acknowledged since it began`;
    else if (silentMs > SILENCE_KNOWN_MS) yield `${words}, and the platform was silent for ${seconds(silentMs)}`;
    const waiting = this.#waitingSince(sinceMs, DELIVERED_WITHIN_MS);
    if (waiting !== undefined) yield `${words}, and what was durable at ${seconds(waiting)} has waited since`;
  }

  *#ofBacklog({ outbox, devices }: AgentStatus, sinceMs: number): Generator<string> {
    const waiting = this.#waitingSince(sinceMs, 0);
    if (outbox.heldEntries + (devices?.heldEntries ?? 0) === 0 && waiting !== undefined)
      yield `nothing is said to wait, and something was durable at ${seconds(waiting)}`;
  }

  /** When the newest entry of this life, of those that are durable for so long, was called durable, where no upload has been answered since. */
  #waitingSince(sinceMs: number, forMs: number): number | undefined {
    const { durable, network, timeline, disk } = this.#world;
    const newest = durable.findLast(({ toldAtMs }) => toldAtMs <= timeline.nowMs - forMs);
    // A disk that fails may take what it had called durable.
    if (newest === undefined || newest.toldAtMs < sinceMs || disk.wasFaulty) return undefined;
    return newest.toldAtMs > network.outcomes.uploadedAtMs ? newest.toldAtMs : undefined;
  }

  *#ofOutputs({ actuators }: AgentStatus): Generator<string> {
    const world = this.#world;
    const { nowMs } = world.timeline;
    const fromMs = nowMs - SETTLED_MS;
    if (world.hinderedMs(fromMs, nowMs) > 0 || world.pins.muteTimes.some(({ untilMs }) => untilMs > fromMs)) return;
    for (const { name, line } of world.site.outputs) {
      const said = actuators.find((one) => one.name === name);
      if (
        typeof said?.value !== 'boolean' ||
        said.fault !== undefined ||
        world.movesOf(line).some(({ atMs }) => atMs > fromMs)
      )
        continue;
      const isOn = isOnAt(world, line, nowMs);
      if (said.value !== isOn)
        yield `${name} is said to be ${said.value ? 'on' : 'off'}, and is ${isOn ? 'on' : 'off'}`;
    }
  }

  *#ofSensors({ sensors, nowMs }: AgentStatus): Generator<string> {
    for (const { name, state, readings } of sensors) {
      const periodMs = this.#world.site.periods.get(name);
      if (state !== 'ok' || periodMs === undefined || readings.length === 0) continue;
      // A counter's total is a reading once it is saved, its rate at each period.
      const readAtMs = Math.max(...readings.map(({ atMs }) => atMs));
      const agoMs = nowMs - readAtMs;
      if (agoMs > PERIODS * periodMs + SETTLED_MS)
        yield `${name} is said to work, and was last read ${seconds(agoMs)} ago`;
    }
  }
  /** Contradictions between what the page shows and what status says in the same instant; metrics and a plot are asked for as a page asks. */
  *#ofPage({ platform, timeSynchronised, outbox }: AgentStatus): Generator<string> {
    const page = this.#world.life?.page;
    if (page === undefined) return;
    const view = page.view();
    if (view.platform.words !== platform.words)
      yield `the page says "${view.platform.words}", and status "${platform.words}"`;
    if (page.health().readiness.ok !== readinessOf({ platform, outbox, timeSynchronised }).ok)
      yield 'the page’s readiness is not that of status';
    const held = page.metrics().find(({ name }) => name === 'turnstone_outbox_held_entries')?.samples[0];
    if (held !== undefined && held.value !== outbox.heldEntries)
      yield `the metrics say that ${held.value} wait, and status ${outbox.heldEntries}`;
    const keys = view.sensors.flatMap(({ readings }) => readings.map(({ key }) => key)).slice(0, PLOTTED_KEYS);
    const toMs = page.clock.wallMs() + 1;
    const gone = new AbortController();
    const plot = async () => await page.series({ keys, fromMs: toMs - PLOT_MS, toMs, points: 100 }, gone.signal);
    // An outbox that cannot be read has no plot.
    if (keys.length > 0) plot().catch(() => {});
  }
}
