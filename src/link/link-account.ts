/**
 * Bytes that the link carried in this billing period, by what they were for, and in this UTC day, over restarts. A clock that is not known to be right begins no
 * period: its bytes count to the present one. One that comes back to before the present period has the former one go on.
 */
import type { Clock, EpochMs } from '../host/clock.ts';
import type { Traffic } from '../platform/connections.ts';
import { isJsonObject, type JsonObject } from '../values/json.ts';
import { type BillingPeriod, periodAt } from './billing-period.ts';
import { type DayCount, dayBytes, daysFrom, daysGoneOn, NO_DAYS } from './day-count.ts';

export const LINK_FORMAT = { format: 'turnstone/link', version: 1 } as const;

export const LINK_FEATURES = ['telemetry', 'polls', 'calls', 'firmware'] as const;
export type LinkFeature = (typeof LINK_FEATURES)[number];
export type FeatureBytes = Readonly<Record<LinkFeature, number>>;

export interface LinkAccountDeps {
  readonly clock: Pick<Clock, 'monotonicMs' | 'wallMs'>;
  readonly isSynchronised: () => boolean;
  /** Counts of this process. */
  readonly counted: () => FeatureBytes;
  readonly resetDay: () => number;
}

export interface LinkAccount {
  readonly nowMs: EpochMs;
  readonly period: BillingPeriod;
  readonly usedBytes: number;
  readonly features: FeatureBytes;
  /** Bytes of the present UTC day. */
  readonly todayBytes: number;
  /** Bytes of the last seven days, or since counting began, without downloads, and that time. */
  readonly seen: { readonly bytes: number; readonly ms: number };
  /** Bytes since the file was begun, without downloads. */
  readonly totalBytes: number;
}

/** Returns the counts of connections by what they are for; those of a network that nobody counts by lanes are all telemetry. */
export function featuresOf({ lanes, sentBytes, receivedBytes }: Traffic): FeatureBytes {
  if (lanes === undefined) return { ...NOTHING, telemetry: sentBytes + receivedBytes };
  return {
    telemetry: lanes.upload,
    calls: lanes.calls,
    firmware: lanes.download,
    polls: lanes['attribute-poll'] + lanes['rpc-poll'],
  };
}

const HOUR_MS = 3_600_000;
const MAX_HOURS = 7 * 24;
/** A clock that moved by more than this against the running time was wrong before, or is now. */
const MOVED_BY_MS = 86_400_000;
const NOTHING: FeatureBytes = { telemetry: 0, polls: 0, calls: 0, firmware: 0 };

/** Account as it lies on the disk. */
export interface KeptAccount {
  readonly atMs: EpochMs;
  readonly isSure: boolean;
  readonly resetDay: number;
  readonly features: FeatureBytes;
  /** Bytes of the period before. */
  readonly former?: FeatureBytes | undefined;
  readonly totalBytes: number;
  readonly sinceMs: EpochMs;
  readonly hours: readonly (readonly [hour: number, bytes: number])[];
  readonly days?: DayCount['days'];
}

export interface LinkAccounts {
  /** Counts what came since the last look. */
  look(): LinkAccount;
  kept(): JsonObject;
}

export function openLinkAccount(deps: LinkAccountDeps, before: KeptAccount | undefined): LinkAccounts {
  const { clock, isSynchronised, counted, resetDay } = deps;
  const startMs = clock.wallMs();
  let kept = before ?? {
    atMs: startMs,
    isSure: isSynchronised(),
    resetDay: resetDay(),
    features: NOTHING,
    totalBytes: 0,
    sinceMs: startMs,
    hours: [],
  };
  let count = before === undefined ? NO_DAYS : daysFrom(before.days);
  let wasSure = isSynchronised();
  let monotonicMs = clock.monotonicMs();
  let last = counted();

  const look = (): LinkAccount => {
    const passedMs = clock.monotonicMs() - monotonicMs;
    monotonicMs += passedMs;
    const now = counted();
    const more = mapped((feature) => Math.max(0, now[feature] - last[feature]));
    last = now;
    const isSure = isSynchronised();
    const fromMs = kept.atMs;
    kept = goneOn(kept, { nowMs: isSure ? clock.wallMs() : kept.atMs + passedMs, passedMs, isSure, day: resetDay() });
    kept = added(kept, more);
    count = daysGoneOn(count, { fromMs, toMs: kept.atMs, bytes: sum(more), wasSure, isSure });
    wasSure = isSure;
    const seenMs = Math.min(MAX_HOURS * HOUR_MS, kept.atMs - kept.sinceMs);
    return {
      nowMs: kept.atMs,
      period: periodAt(kept.atMs, kept.resetDay),
      usedBytes: sum(kept.features),
      features: kept.features,
      todayBytes: dayBytes(count, kept.atMs),
      seen: { bytes: kept.hours.reduce((bytes, [, one]) => bytes + one, 0), ms: Math.max(0, seenMs) },
      totalBytes: kept.totalBytes,
    };
  };
  return {
    look,
    kept: () =>
      ({
        ...kept,
        hours: kept.hours.map((one) => [...one]),
        days: count.days.map((one) => [...one]),
      }) as JsonObject,
  };
}

interface Passed {
  readonly nowMs: EpochMs;
  readonly passedMs: number;
  readonly isSure: boolean;
  readonly day: number;
}

/** Returns the account at another time; another period begins with nothing, unless it is the clock or the reset day that changed. */
function goneOn(kept: KeptAccount, { nowMs, passedMs, isSure, day }: Passed): KeptAccount {
  const { beginsAtMs, endsAtMs } = periodAt(kept.atMs, day);
  const movedMs = nowMs - kept.atMs - passedMs;
  const isBack = isSure && nowMs < beginsAtMs;
  const isMoved = isSure && (isBack || !kept.isSure || Math.abs(movedMs) > MOVED_BY_MS);
  const atMs = isMoved ? nowMs : Math.max(kept.atMs, nowMs);
  const isOver = isSure && kept.isSure && day === kept.resetDay && atMs >= endsAtMs;
  const shiftMs = isMoved ? movedMs : 0;
  const hours = kept.hours.map(([hour, bytes]) => [hour + Math.round(shiftMs / HOUR_MS), bytes] as const);
  return {
    ...kept,
    atMs,
    resetDay: day,
    isSure: kept.isSure || isSure,
    sinceMs: kept.sinceMs + shiftMs,
    ...(isOver ? { features: NOTHING, former: kept.features } : {}),
    ...(isBack && kept.former !== undefined ? { features: plus(kept.features, kept.former), former: undefined } : {}),
    hours: hours.filter(([hour]) => hour > Math.floor(atMs / HOUR_MS) - MAX_HOURS),
  };
}

function added(kept: KeptAccount, more: FeatureBytes): KeptAccount {
  if (sum(more) === 0) return kept;
  // A download is no habit: what it takes says nothing of the days to come.
  const bytes = sum(more) - more.firmware;
  const hour = Math.floor(kept.atMs / HOUR_MS);
  const last = kept.hours.at(-1);
  const hours =
    last?.[0] === hour
      ? [...kept.hours.slice(0, -1), [hour, last[1] + bytes] as const]
      : [...kept.hours, [hour, bytes] as const];
  return { ...kept, features: plus(kept.features, more), hours, totalBytes: kept.totalBytes + bytes };
}

/** Reads what an earlier run left; undefined when it is malformed. */
export function accountFrom(state: unknown): KeptAccount | undefined {
  if (!isJsonObject(state)) return undefined;
  const { atMs, isSure, resetDay, totalBytes, sinceMs, hours } = state;
  const [features, former] = [featuresFrom(state.features), featuresFrom(state.former)];
  const numbers = [atMs, resetDay, totalBytes, sinceMs];
  if (
    !numbers.every((one) => Number.isFinite(one)) ||
    typeof isSure !== 'boolean' ||
    !Array.isArray(hours) ||
    !features
  )
    return undefined;
  const pairs = hours.filter(
    (one) => Array.isArray(one) && one.length === 2 && one.every((part) => Number.isFinite(part)),
  );
  return {
    atMs: atMs as number,
    resetDay: resetDay as number,
    totalBytes: totalBytes as number,
    sinceMs: sinceMs as number,
    former,
    isSure,
    features,
    hours: (pairs as [number, number][]).slice(-MAX_HOURS),
    days: daysFrom(state.days).days,
  };
}

function featuresFrom(told: unknown): FeatureBytes | undefined {
  if (!isJsonObject(told)) return undefined;
  const isRight = LINK_FEATURES.every((feature) => Number.isFinite(told[feature]) && (told[feature] as number) >= 0);
  return isRight ? mapped((feature) => told[feature] as number) : undefined;
}

function plus(one: FeatureBytes, other: FeatureBytes): FeatureBytes {
  return mapped((feature) => one[feature] + other[feature]);
}

function mapped(of: (feature: LinkFeature) => number): FeatureBytes {
  return Object.fromEntries(LINK_FEATURES.map((feature) => [feature, of(feature)])) as FeatureBytes;
}

function sum(features: FeatureBytes): number {
  return LINK_FEATURES.reduce((bytes, feature) => bytes + features[feature], 0);
}
