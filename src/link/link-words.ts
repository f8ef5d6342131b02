/** The state of the link in words, for the alert, the terminal and the page. */
import { formatDuration } from '../config/fields/quantity.ts';
import type { LinkConfig } from '../config/schema/link.ts';
import type { EpochMs } from '../host/clock.ts';
import type { Forecast } from './forecast.ts';
import { LADDER_STEPS, type LadderState, type LadderStep } from './ladder.ts';
import type { FeatureBytes, LinkAccount } from './link-account.ts';

/** Traffic of the link in this billing period. */
export interface LinkStatus {
  readonly usedBytes: number;
  readonly monthlyBytes?: number;
  readonly beginsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  readonly features: FeatureBytes;
  /** Carried in this UTC day, against `dailyBytes` where there is a bound. */
  readonly todayBytes: number;
  readonly dailyBytes?: number;
  /** Forecast for the whole period; absent until an hour is known. */
  readonly forecastBytes?: number;
  readonly reachesAtMs?: EpochMs;
  /** Step of the ladder; `everything` where nothing is. */
  readonly step: LadderStep;
  /** Present while history waits: for the next UTC day, or for a forecast that leaves room for it. */
  readonly historyWaitsFor?: 'tomorrow' | 'forecast';
  readonly words: string;
}

export function linkStatus(
  { usedBytes, period, features, todayBytes }: LinkAccount,
  {
    monthlyBytes,
    dailyBytes,
    forecast,
    taken,
    historyWaitsFor,
  }: Pick<LinkStatus, 'monthlyBytes' | 'dailyBytes' | 'historyWaitsFor'> &
    Pick<LadderState, 'taken'> & { readonly forecast: Forecast | undefined },
): LinkStatus {
  const step = LADDER_STEPS[taken] ?? 'everything';
  const facts = {
    usedBytes,
    monthlyBytes,
    ...period,
    features,
    todayBytes,
    dailyBytes,
    step,
    historyWaitsFor,
    forecastBytes: forecast?.bytes,
    reachesAtMs: monthlyBytes === undefined ? undefined : forecast?.reachesAtMs,
  };
  return { ...facts, words: wordsOf(facts) };
}

/** Tells people what a step means, and what to do about it. */
export function stepWords(
  taken: number,
  { wake, endsAtMs }: { readonly wake: string; readonly endsAtMs: EpochMs },
): string {
  const commands = `commands and shared attributes come within ${wake}; one-way RPC is lost, persistent ones wait`;
  const done = [
    'nothing is left out',
    `shared attributes are asked for every ${wake}, not waited for`,
    commands,
    `${commands}; readings go together every ${wake}, history waits for the next month`,
    `only alarms are sent, and no command comes, until ${dayOf(endsAtMs)} at the latest`,
  ];
  return `${done[taken] ?? done[0]}; report less often, or raise link.monthly`;
}

/** Returns what a download waits for, where the next month has room for it and where none has. */
export function downloadWords(endsAtMs: EpochMs, hasRoom: boolean): string {
  const until = `for ${new Date(endsAtMs).toISOString()}, when the month of the link begins; link.firmware: now has it come at once`;
  return hasRoom ? until : 'for link.firmware: now, as no month of the link has room for it beside the rest';
}

/** Returns what a wake does to commands, for who checks a configuration; undefined where none can come to it. */
export function wakeWords({
  link,
  rpc,
}: {
  readonly link: LinkConfig;
  readonly rpc: { readonly enabled: boolean };
}): string | undefined {
  if (!link.metered) return undefined;
  const wake = formatDuration(link.wakeMs);
  const commands = rpc.enabled
    ? `commands come within ${wake}; one-way RPC is lost, persistent ones wait`
    : 'there are no commands (rpc.enabled: false)';
  return `link: when the month would not suffice, ${commands}; shared attributes come within ${wake}; alarms never wait`;
}

function wordsOf(status: Omit<LinkStatus, 'words'>): string {
  const { usedBytes, monthlyBytes, todayBytes, dailyBytes, endsAtMs, forecastBytes, reachesAtMs, step } = status;
  const used = `${megabytes(usedBytes)}${monthlyBytes === undefined ? '' : ` of ${megabytes(monthlyBytes)}`} since ${dayOf(status.beginsAtMs)}`;
  const ahead = forecastBytes === undefined ? 'no forecast yet' : `${megabytes(forecastBytes)} by ${dayOf(endsAtMs)}`;
  const reaches = reachesAtMs === undefined ? '' : `, reaches day ${new Date(reachesAtMs).getUTCDate()}`;
  const today = dailyBytes === undefined ? '' : `, ${megabytes(todayBytes)} of ${megabytes(dailyBytes)} today`;
  return `${used}, ${ahead}${reaches}${today}${step === 'everything' ? '' : `; ${step}`}`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 10e6 ? 2 : 1)} MB`;
}

function dayOf(atMs: EpochMs): string {
  return `${new Date(atMs).toISOString().slice(0, 10)}Z`;
}
