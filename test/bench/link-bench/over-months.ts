/**
 * Months of a metered link with outages and backlogs: the real account, forecast and ladder, asked as the agent asks them, in steps of five minutes;
 * polls, uploads and their connections by the prices of the line. The agent's count is as wrong as it was measured to be.
 */

import { configSchema } from '../../../src/config/schema/agent-config.ts';
import { AlertList } from '../../../src/host/alert-list.ts';
import type { Clock } from '../../../src/host/clock.ts';
import { silentLog } from '../../../src/host/log.ts';
import { openLink } from '../../../src/link/link.ts';
import { Chance } from '../../simulation/chance.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import type { Prices } from './prices.ts';

const TICK_MS = 5 * 60_000;
const DAYS = 30;
const BEGINS_MS = Date.UTC(2026, 3, 1);
const BATCH_BYTES = 256_000;
/** Batches that the line takes in a step. */
const BATCHES = 20;
const never = (): never => {
  throw new Error('nothing is waited for');
};

export interface OverMonth {
  /** Beyond the month's limit, without alarms, by the line's count. */
  readonly overBytes: number;
  readonly usedShare: number;
  /** Highest step of the ladder. */
  readonly step: number;
}

export async function month(
  seed: number,
  prices: Prices,
  wrong: { readonly least: number; readonly most: number },
): Promise<OverMonth> {
  const chance = new Chance(seed);
  let nowMs = 0;
  const clock: Clock = {
    bootId: 'bench',
    monotonicMs: () => nowMs,
    wallMs: () => BEGINS_MS + nowMs,
    jitter: chance.random,
    sleep: never,
    after: () => () => {},
  };
  const monthly = Math.round(chance.magnitude(5, 100));
  const config = configSchema.parse({
    version: 1,
    platform: { url: 'https://platform.example', accessToken: 'token-of-the-bench' },
    stateFolder: '/state',
    link: { metered: true, monthly: `${monthly}MB`, wake: '15m' },
  });
  const counts = 1 + wrong.least + chance.random() * (wrong.most - wrong.least);
  let [used, alarms, backlog, download] = [0, 0, 0, 0];
  const files = new MemoryFiles({ keepsChanges: false });
  await files.makeFolder('/state');
  const link = await openLink({
    clock,
    files,
    log: silentLog,
    alerts: new AlertList(silentLog),
    config: () => config,
    timeSync: { isSynchronised: () => true },
    traffic: () => {
      const lanes = {
        upload: (used - download) * counts,
        calls: 0,
        'attribute-poll': 0,
        'rpc-poll': 0,
        download: download * counts,
      };
      return { sentBytes: 0, receivedBytes: 0, lanes };
    },
  });
  const readingBytes = chance.magnitude(60, 3_000);
  const readingsPerTick = chance.pick([1, 5, 30]);
  const alarmShare = chance.happens(0.5) ? chance.random() * 0.05 : 0;
  const outages = Array.from({ length: chance.between(0, 6) }, () => {
    const fromMs = chance.random() * DAYS * 86_400_000;
    return { fromMs, untilMs: fromMs + chance.magnitude(600_000, 4 * 86_400_000) };
  });
  /** A logger that hands over what it has kept, of as much as the month. */
  const handedAtTick = chance.between(0, (DAYS * 86_400_000) / TICK_MS);
  const firmware = { atTick: chance.between(0, 9_000), bytes: chance.magnitude(1e6, 60e6) };
  const pollsPerTick = TICK_MS / chance.pick([24_300, 270_000]);
  let highest = 0;
  let present = 0;
  for (let tick = 0; nowMs < DAYS * 86_400_000; tick += 1, nowMs += TICK_MS) {
    const isWake = nowMs % config.link.wakeMs === 0;
    present += readingBytes * readingsPerTick;
    if (tick === handedAtTick) backlog += monthly * 1e6 * chance.random();
    if (outages.some(({ fromMs, untilMs }) => nowMs >= fromMs && nowMs < untilMs)) {
      backlog += present;
      present = 0;
      // A look that failed rests for a wake.
      if (isWake) used += prices.connection * 0.1;
      continue;
    }
    if (chance.happens(alarmShare)) {
      used += prices.post + prices.resumed + 200;
      alarms += prices.post + prices.resumed + 200;
    }
    link.look();
    for (const kind of ['attributes', 'commands'] as const) {
      const everyMs = link.wakes(kind);
      if (everyMs === undefined) used += pollsPerTick * prices.pollOther;
      else if (nowMs % everyMs === 0) used += prices.get + prices.pollOther + prices.resumed;
    }
    const { present: sends, waitMs } = link.uploads();
    if (sends && (waitMs === 0 || isWake)) {
      used += present + prices.post * (waitMs === 0 ? readingsPerTick : 1);
      present = 0;
    } else if (!sends) {
      backlog += present;
      present = 0;
    }
    for (let sent = 0; backlog > 0 && sent < BATCHES && link.uploads().history; sent += 1) {
      const bytes = Math.min(backlog, BATCH_BYTES);
      backlog -= bytes;
      used += bytes * 1.07 + prices.post;
    }
    if (tick === firmware.atTick && link.waitsFor(firmware.bytes) === undefined) {
      download += firmware.bytes;
      used += firmware.bytes;
    }
    const { step } = link.status();
    highest = Math.max(
      highest,
      ['everything', 'attributes-at-wakes', 'commands-at-wakes', 'readings-at-wakes', 'alarms-only'].indexOf(step),
    );
  }
  return {
    overBytes: Math.max(0, Math.round(used - alarms - monthly * 1e6)),
    usedShare: used / monthly / 1e6,
    step: highest,
  };
}
