/** Time of day, date and weekday as people write them, in the machine's zone; spans of them, which may cross midnight or the new year. */
import { readlinkSync } from 'node:fs';
import type { EpochMs } from './clock.ts';

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

export interface LocalTime {
  /** `HH:MM`. */
  readonly time: string;
  /** `MM-DD`. */
  readonly date: string;
  readonly weekday: Weekday;
}

export interface Span {
  readonly from: string;
  readonly to: string;
}

/** Local time by the wall clock: at a change of summer time minutes are left out, or come twice. @param timeZone default: the machine's. */
export function localTime(epochMs: EpochMs, timeZone: string | undefined = machineZone()): LocalTime {
  return localTimes(timeZone)(epochMs);
}

/** The same for many times, as the zone is looked up once. */
export function localTimes(timeZone: string | undefined = machineZone()): (epochMs: EpochMs) => LocalTime {
  const two = '2-digit';
  const fields = { weekday: 'short', month: two, day: two, hour: two, minute: two, hourCycle: 'h23' } as const;
  const format = new Intl.DateTimeFormat('en-GB', { ...fields, timeZone });
  return (epochMs) => {
    const parts = format.formatToParts(epochMs);
    const part = (type: Intl.DateTimeFormatPartTypes): string => parts.find((one) => one.type === type)?.value ?? '';
    const weekday = part('weekday').toLowerCase() as Weekday;
    return { time: `${part('hour')}:${part('minute')}`, date: `${part('month')}-${part('day')}`, weekday };
  };
}

/**
 * Returns the zone that the machine has now; the runtime keeps that of its start. Undefined where that holds: `TZ` is set, or the file names none.
 * @param link set by `timedatectl set-timezone`.
 */
export function machineZone(link = '/etc/localtime'): string | undefined {
  try {
    const zone =
      process.env.TZ === undefined ? /zoneinfo\/(?:posix\/|right\/)?(.+)$/.exec(readlinkSync(link))?.[1] : undefined;
    return zone === undefined
      ? undefined
      : new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/** Says that a time of day is within these hours; `to` is no longer. */
export function isWithinHours({ from, to }: Span, { time }: LocalTime): boolean {
  return from <= to ? time >= from && time < to : time >= from || time < to;
}

/** Says that a date is within these, both of them included. */
export function isWithinDates({ from, to }: Span, { date }: LocalTime): boolean {
  return from <= to ? date >= from && date <= to : date >= from || date <= to;
}
