/** Kills an appending and delivering process again and again, and compares what it said was durable with what reached the platform. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { bundledEnvironment } from './bundled-child.ts';
import type { CrashBuild, CrashKind } from './outbox-crash-child.ts';

export interface CampaignResult {
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
  /** What `bundleChild` made. */
  readonly child: string;
  readonly build: CrashBuild;
  readonly kind: CrashKind;
  readonly kills: number;
  /** Longest life after the outbox is open, ms. */
  readonly longestLifeMs: number;
  readonly random: () => number;
}

/** A build that acknowledges nothing is killed all the same. */
const SOMETHING_WITHIN_MS = 5_000;

export async function runCampaign({ child: program, build: own, kind, kills, longestLifeMs, random }: Campaign): Promise<CampaignResult> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-crash-'));
  const resolved = new Set<number>();
  const times = new Map<number, number>();
  const changed = new Set<number>();
  const valueAt = new Map<number, number>();
  const clashing = new Set<number>();
  let next = 1;
  const hear = (line: string): void => {
    const [word, first, second] = line.split(' ');
    if (word === 'A') {
      for (let value = Number(first); value < Number(first) + Number(second); value += 1) resolved.add(value);
    } else if (word === 'P') {
      const known = times.get(Number(first));
      if (known !== undefined && known !== Number(second)) changed.add(Number(first));
      times.set(Number(first), Number(second));
      const other = valueAt.get(Number(second));
      if (other !== undefined && other !== Number(first)) clashing.add(Number(first));
      valueAt.set(Number(second), Number(first));
    }
  };
  try {
    for (let kill = 0; kill < kills; kill += 1) {
      const child = start(program, [folder, own, kind, String(next)]);
      const resolvedSome = Promise.withResolvers<void>();
      const ended = listen(child, (line) => {
        hear(line);
        if (line.startsWith('A ')) resolvedSome.resolve();
      });
      await ended.ready;
      // Every other life gets something done before its time is counted, however busy the machine is.
      if (kill % 2 === 0) await Promise.race([resolvedSome.promise, delay(SOMETHING_WITHIN_MS)]);
      await delay(random() * longestLifeMs);
      child.kill('SIGKILL');
      await ended.closed;
      // Past every value the process may have used: a value names one entry.
      next += 100_000;
    }
    const last = listen(start(program, [folder, own === 'acknowledges-first' ? 'whole' : own, kind, '0', 'yes']), hear);
    await last.closed;
    if (!last.finished()) throw new Error('the last drain did not end by itself');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const lost = [...resolved].filter((value) => !times.has(value));
  return { kills, resolved: resolved.size, posted: times.size, lost, changed: [...changed], clashing: [...clashing] };
}

function start(program: string, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'], env: bundledEnvironment(program) });
}

function listen(
  child: ChildProcess,
  hear: (line: string) => void,
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
      else hear(line);
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
