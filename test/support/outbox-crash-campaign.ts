/**
 * Kills an appending and delivering process again and again, and compares what it said was durable with what reached the platform. Several
 * outboxes share its fate, each killed wherever it is: a start of Node costs more than the life of an outbox.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { bundledEnvironment } from './bundled-child.ts';
import type { CrashBuild, CrashKind } from './outbox-crash-child.ts';

export interface CampaignResult {
  /** Kills of outboxes. */
  readonly kills: number;
  readonly resolved: number;
  readonly posted: number;
  /** Values whose append resolved and that never reached the platform. */
  readonly lost: readonly number[];
  /** Values that were posted with two different times. */
  readonly changed: readonly number[];
  /** Values that have the same key and time as another: one would overwrite the other. */
  readonly clashing: readonly number[];
}

export interface Campaign {
  /** Path of the child from `bundleChild`. */
  readonly child: string;
  readonly build: CrashBuild;
  readonly kind: CrashKind;
  /** Least number of kills of outboxes. */
  readonly kills: number;
  /** Longest life after the outboxes are open, ms. */
  readonly longestLifeMs: number;
  readonly random: () => number;
}

/** Outboxes that live and die together. */
const TOGETHER = 5;
/** A life takes values up to here beyond its first: a value names one entry. */
const VALUES_EACH = 100_000;
/** Within this the platform answers a build that has acknowledged already. */
const ANSWER_WITHIN_MS = 25;
/** A build that acknowledges nothing is killed all the same. */
const SOMETHING_WITHIN_MS = 5_000;

export async function runCampaign({
  child: program,
  build: own,
  kind,
  kills,
  longestLifeMs,
  random,
}: Campaign): Promise<CampaignResult> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-crash-'));
  const resolved = new Set<number>();
  const times = new Map<number, number>();
  const changed = new Set<number>();
  const valuesAt = Array.from({ length: TOGETHER }, () => new Map<number, number>());
  const clashing = new Set<number>();
  const hear = (word: string, outbox: number, first: number, second: number): void => {
    if (word === 'A') {
      for (let value = first; value < first + second; value += 1) resolved.add(value);
    } else if (word === 'P') {
      const known = times.get(first);
      if (known !== undefined && known !== second) changed.add(first);
      times.set(first, second);
      const other = valuesAt[outbox]?.get(second);
      if (other !== undefined && other !== first) clashing.add(first);
      valuesAt[outbox]?.set(second, first);
    }
  };
  const lives = Math.ceil(kills / TOGETHER);
  try {
    for (let life = 0; life < lives; life += 1) {
      const child = start(program, [folder, own, kind, String(TOGETHER), String(1 + life * TOGETHER * VALUES_EACH)]);
      const silent = new Set(valuesAt.keys());
      const resolvedSome = Promise.withResolvers<void>();
      const platform = new SlowPlatform(child, random);
      const ended = listen(child, (word, outbox, first, second) => {
        hear(word, outbox, first, second);
        if (word === 'A' && silent.delete(outbox) && silent.size === 0) resolvedSome.resolve();
        if (word === 'K') platform.ask(outbox);
      });
      await ended.ready;
      // In every other life each gets something done before their time is counted, however busy the machine is.
      if (life % 2 === 0) await Promise.race([resolvedSome.promise, delay(SOMETHING_WITHIN_MS)]);
      await delay(random() * longestLifeMs);
      // It dies while it waits for an answer, and not whenever one of the two processes happens to be slower.
      if (own === 'acknowledges-first') await Promise.race([platform.hold(), ended.closed]);
      child.kill('SIGKILL');
      await ended.closed;
    }
    const last = listen(
      start(program, [folder, own === 'acknowledges-first' ? 'whole' : own, kind, String(TOGETHER)]),
      hear,
    );
    await last.closed;
    if (!last.finished()) throw new Error('the last drain did not end by itself');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const lost = [...resolved].filter((value) => !times.has(value));
  return {
    kills: lives * TOGETHER,
    resolved: resolved.size,
    posted: times.size,
    lost,
    changed: [...changed],
    clashing: [...clashing],
  };
}

/** Lets a build that has acknowledged already post what it has, each time a while later. */
class SlowPlatform {
  readonly #child: ChildProcess;
  readonly #random: () => number;
  readonly #asking = new Set<number>();
  readonly #held = Promise.withResolvers<void>();
  #answers = true;

  constructor(child: ChildProcess, random: () => number) {
    this.#child = child;
    this.#random = random;
    // It may be gone already.
    child.stdin?.on('error', () => {});
  }

  ask(outbox: number): void {
    this.#asking.add(outbox);
    if (this.#answers) void delay(this.#random() * ANSWER_WITHIN_MS).then(() => this.#answer(outbox));
    else this.#held.resolve();
  }

  /** Answers nothing any more; resolves when somebody waits for it. */
  hold(): Promise<void> {
    this.#answers = false;
    if (this.#asking.size > 0) this.#held.resolve();
    return this.#held.promise;
  }

  #answer(outbox: number): void {
    if (!this.#answers) return;
    this.#asking.delete(outbox);
    this.#child.stdin?.write(String(outbox));
  }
}

function start(program: string, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [program, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: bundledEnvironment(program),
  });
}

function listen(
  child: ChildProcess,
  hear: (word: string, outbox: number, first: number, second: number) => void,
): { readonly ready: Promise<void>; readonly closed: Promise<void>; readonly finished: () => boolean } {
  let rest = '';
  let isFinished = false;
  let isReady: () => void = () => {};
  const ready = new Promise<void>((resolve) => {
    isReady = resolve;
  });
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    // A line that the kill cut off was not said.
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === 'R') isReady();
      else if (line === 'D') isFinished = true;
      else {
        const [word = '', ...numbers] = line.split(' ');
        const [outbox = 0, first = 0, second = 0] = numbers.map(Number);
        hear(word, outbox, first, second);
      }
    }
  });
  const closed = new Promise<void>((resolve) => {
    child.on('close', () => {
      isReady();
      resolve();
    });
  });
  return { ready, closed, finished: () => isFinished };
}
