/**
 * The link as somebody pays for it: what it carried this month and today, where that leads, and what is done without so that both suffice.
 *
 *   sockets → account (file) → forecast → ladder → manners of polls and uploads
 */
import { join } from 'node:path';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import type { Alerts } from '../host/alert-list.ts';
import type { Clock, EpochMs } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { HostMachine } from '../host/machine.ts';
import type { TimeSync } from '../host/time-sync.ts';
import { untilWakeMs } from '../host/wake-grid.ts';
import type { Traffic } from '../platform/connections.ts';
import { StateFile } from '../store/state-file.ts';
import { isJsonObject, type JsonObject } from '../values/json.ts';
import { type Forecast, forecast } from './forecast.ts';
import { LADDER_BEGIN, type LadderState, LOW_SHARE, manners, nextStep, reserveOf, STEP_EVERY_MS } from './ladder.ts';
import {
  accountFrom,
  type FeatureBytes,
  featuresOf,
  LINK_FORMAT,
  type LinkAccount,
  openLinkAccount,
} from './link-account.ts';
import { downloadWords, type LinkStatus, linkStatus, stepWords } from './link-words.ts';

export interface LinkDeps extends Pick<HostMachine, 'files'> {
  readonly timeSync: Pick<TimeSync, 'isSynchronised'>;
  /** Counts what went over the way to the platform. */
  readonly traffic: () => Traffic;
  readonly clock: Clock;
  readonly config: () => Pick<AgentConfig, 'link' | 'upload' | 'stateFolder'>;
  readonly log: Log;
  readonly alerts: Alerts;
}

/** Uploads that are left, and how soon the next of the present may go where readings are gathered. */
export interface LinkUploads {
  readonly history: boolean;
  readonly present: boolean;
  readonly waitMs: number;
}

export interface Link {
  /** Counts, and takes or undoes a step where one is due. */
  look(): void;
  /** Returns what is left of uploads. */
  uploads(): LinkUploads;
  /** Returns the time between two looks for messages, infinite for none; undefined where they are waited for. */
  wakes(kind: 'attributes' | 'commands'): number | undefined;
  /** Returns why a download of so many bytes has to wait, in words; undefined when it may come now. */
  waitsFor(downloadBytes: number): string | undefined;
  /** Returns how old a reading may be that has not waited for history: where readings may have to wait for a wake, that long. */
  presentMs(): number;
  /** Notes bytes of a download from another host than the platform. */
  noteDownload(bytes: number): void;
  status(): LinkStatus;
  /** Everything known is on disk when this resolves. Idempotent. */
  close(): Promise<void>;
}

const LOOK_EVERY_MS = 30_000;
const SAVE_EVERY_MS = 5 * 60_000;
/** Saved sooner once this share of the month or the day was carried. */
const SAVE_SHARE = 0.01;
/** Period of writing the account where nothing bounds what is carried: it is a figure then, and a cut may take an hour of it. */
const SAVE_UNBOUNDED_EVERY_MS = 3_600_000;
/** Shared attributes are read so often when only alarms are sent: a gateway that is to be heard of again must not be lost. */
const SELDOM_MS = 6 * 3_600_000;
/** Such a reading, with the connection that it needs. */
const SELDOM_BYTES = 3_500;
/** After the first wake of a step. */
const SETTLES_MS = 60_000;
const ALERT = 'link';

export async function openLink(deps: LinkDeps): Promise<Link> {
  const { clock, files, log, alerts, config, timeSync } = deps;
  const isSynchronised = (): boolean => timeSync.isSynchronised();
  const file = new StateFile({ ...LINK_FORMAT, path: join(config().stateFolder, 'link.json'), files, clock, log });
  const kept = await file.read();
  let besides = 0;
  const counted = (): FeatureBytes => {
    const features = featuresOf(deps.traffic());
    return { ...features, firmware: features.firmware + besides };
  };
  const left = accountFrom(kept?.account);
  if (kept !== undefined && left === undefined)
    log.error({}, 'link.json cannot be used: the month of the link is counted from now on');
  const account = openLinkAccount({ clock, isSynchronised, counted, resetDay: () => config().link.resetDay }, left);
  let now: LinkAccount = account.look();
  let ladder = ladderFrom(kept?.ladder);
  /** Total at the last step: what was used from there on is what this step uses. */
  let stepTotal = typeof kept?.stepTotal === 'number' ? Math.min(kept.stepTotal, now.totalBytes) : now.totalBytes;
  /** Terms and month by which the ladder was judged: under others it begins anew. */
  let judgedBy = kept?.judgedBy;
  let saved = { atMs: Number.NEGATIVE_INFINITY, usedBytes: now.usedBytes };

  const monthlyBytes = (): number | undefined => config().link.monthlyBytes;
  const ahead = (): Forecast | undefined =>
    forecast({
      nowMs: now.nowMs,
      endsAtMs: now.period.endsAtMs,
      usedBytes: now.usedBytes,
      monthlyBytes: monthlyBytes(),
      seen: now.seen,
    });
  const aheadOnStep = (): Forecast | undefined => {
    if (ladder.taken === 0) return ahead();
    const seen = { bytes: now.totalBytes - stepTotal, ms: now.nowMs - ladder.changedAtMs - settlesMs() };
    return forecast({ nowMs: now.nowMs, endsAtMs: now.period.endsAtMs, usedBytes: now.usedBytes, seen }, STEP_EVERY_MS);
  };
  /** Changes that a step makes are sent at the first wake, and are no habit. */
  const settlesMs = (): number => config().link.wakeMs + SETTLES_MS;
  const stand = (next: LadderState): void => {
    if (next.taken !== ladder.taken || now.nowMs - ladder.changedAtMs < settlesMs()) stepTotal = now.totalBytes;
    ladder = next;
  };
  const tell = (): void => {
    const { wakeMs } = config().link;
    const { endsAtMs } = now.period;
    if (ladder.taken === 0) alerts.clear(ALERT);
    else
      alerts.raise(
        ALERT,
        `the link: ${stepWords(ladder.taken, { wake: `${Math.round(wakeMs / 60_000)} min`, endsAtMs })}`,
      );
  };
  /** History is no habit: it fills up what the rest leaves, and takes no step. */
  const historyWaitsFor = (): LinkStatus['historyWaitsFor'] => {
    const { metered, monthlyBytes: monthly, dailyBytes: daily } = config().link;
    if (daily !== undefined && now.todayBytes >= daily) return 'tomorrow';
    if (!metered || monthly === undefined) return undefined;
    return (ahead()?.bytes ?? Number.POSITIVE_INFINITY) < monthly * LOW_SHARE ? undefined : 'forecast';
  };
  const status = (): LinkStatus =>
    linkStatus(now, {
      monthlyBytes: monthlyBytes(),
      dailyBytes: config().link.dailyBytes,
      forecast: ahead(),
      taken: ladder.taken,
      historyWaitsFor: historyWaitsFor(),
    });
  const reserveBytes = (monthly: number, atMs: EpochMs): number => {
    const seldomBytes = Math.ceil((now.period.endsAtMs - atMs) / SELDOM_MS) * SELDOM_BYTES;
    return reserveOf(monthly, config().upload.maxBatchBytes, seldomBytes);
  };
  const look = (): void => {
    now = account.look();
    const { metered, resetDay } = config().link;
    const monthly = metered ? monthlyBytes() : undefined;
    const terms = `${monthly} from day ${resetDay}, ${now.period.beginsAtMs}`;
    if (terms !== judgedBy) stand(LADDER_BEGIN);
    judgedBy = terms;
    if (monthly !== undefined)
      stand(
        nextStep(ladder, {
          nowMs: now.nowMs,
          usedBytes: now.usedBytes,
          monthlyBytes: monthly,
          reserveBytes: reserveBytes(monthly, now.nowMs),
          forecastBytes: aheadOnStep()?.bytes,
        }),
      );
    tell();
  };
  const save = (): void => {
    saved = { atMs: clock.monotonicMs(), usedBytes: now.usedBytes };
    file.save({ account: account.kept(), ladder: { ...ladder }, stepTotal, judgedBy: judgedBy ?? null });
  };
  /** Called each half minute: no process that lives longer is lost. */
  const saveWhereDue = (): void => {
    const leastBytes = Math.min(
      monthlyBytes() ?? Number.POSITIVE_INFINITY,
      config().link.dailyBytes ?? Number.POSITIVE_INFINITY,
    );
    const everyMs = leastBytes === Number.POSITIVE_INFINITY ? SAVE_UNBOUNDED_EVERY_MS : SAVE_EVERY_MS;
    const carriedBytes = Math.abs(now.usedBytes - saved.usedBytes);
    if (clock.monotonicMs() - saved.atMs >= everyMs || carriedBytes >= leastBytes * SAVE_SHARE) save();
  };
  let cancel = (): void => {};
  const lookLater = (): void => {
    cancel = clock.after(LOOK_EVERY_MS, () => {
      look();
      saveWhereDue();
      lookLater();
    });
  };
  look();
  lookLater();
  return {
    look,
    status,
    presentMs: () => (config().link.metered ? config().link.wakeMs + SETTLES_MS : 0),
    noteDownload: (bytes) => {
      besides += bytes;
    },
    uploads: () => {
      const { metered, dailyBytes } = config().link;
      if (metered || dailyBytes !== undefined) {
        look();
        // The bytes of the first uploads are kept at once: a process that ends within each half minute forgets no more.
        if (saved.atMs === Number.NEGATIVE_INFINITY && now.usedBytes > saved.usedBytes) save();
      }
      const { history, present, gathers } = manners(ladder);
      return {
        history: history && historyWaitsFor() === undefined,
        present,
        waitMs: gathers ? untilWakeMs(clock, config().link.wakeMs) : 0,
      };
    },
    wakes: (kind) => {
      const how = manners(ladder)[kind];
      if (how === 'standing') return undefined;
      if (how === 'wakes') return config().link.wakeMs;
      return kind === 'commands' ? Number.POSITIVE_INFINITY : Math.max(SELDOM_MS, config().link.wakeMs);
    },
    waitsFor: (downloadBytes) => {
      const { metered, monthlyBytes: monthly, firmware } = config().link;
      if (!metered || monthly === undefined || firmware === 'now') return undefined;
      if ((ahead()?.bytes ?? now.usedBytes) + downloadBytes <= monthly - reserveBytes(monthly, now.nowMs))
        return undefined;
      const { beginsAtMs, endsAtMs } = now.period;
      const whole = forecast({ nowMs: beginsAtMs, endsAtMs, usedBytes: 0, seen: now.seen })?.bytes ?? 0;
      return downloadWords(endsAtMs, whole + downloadBytes <= monthly - reserveBytes(monthly, beginsAtMs));
    },
    close: async () => {
      cancel();
      look();
      save();
      await file.close();
    },
  };
}

/** Reads what an earlier run left; no step when it is malformed. */
function ladderFrom(state: unknown): LadderState {
  if (!isJsonObject(state as JsonObject)) return LADDER_BEGIN;
  const { taken, changedAtMs, lowSinceMs } = state as JsonObject;
  if (typeof taken !== 'number' || ![0, 1, 2, 3, 4].includes(taken) || typeof changedAtMs !== 'number')
    return LADDER_BEGIN;
  return { taken, changedAtMs, lowSinceMs: typeof lowSinceMs === 'number' ? lowSinceMs : undefined };
}
