/** Values of the channels in a frame of text: the type of each channel chooses its key, so that water is never taken for gas. */
import type { ChannelsConfig } from '../../config/fields/channels.ts';
import { type CompilePattern, loadLinearPatterns } from '../../values/linear-pattern.ts';
import { numberOfText } from '../conversion/text-number.ts';
import { type Outcome, outcomeOf } from '../kind/outcome.ts';
import { sensorFault } from '../kind/sensor-fault.ts';

/** Spellings of meters, and units as people write them. */
const UNITS: Readonly<Record<string, string>> = { m3: 'm³' };

/** Year within the century, month, day, hour, minute and second, and S in summer time: `221127120500W`. */
const TIME = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)([SW]?)$/;
const HOUR_MS = 3_600_000;

export type ChannelReader = (text: string) => readonly Outcome[];

/** Loads the pattern engine where there are channels. */
export async function openChannelReader(channels: ChannelsConfig | undefined): Promise<ChannelReader> {
  return channels === undefined ? () => [] : channelReader(channels, await loadLinearPatterns());
}

/**
 * Returns a reader of whole frames. Channels without a type, of a type without a key, or without a value give nothing. A meter without a value for a
 * moment keeps its claim: the other one of its type keeps its key.
 */
function channelReader(channels: ChannelsConfig, compile: CompilePattern): ChannelReader {
  const typePattern = compile(channels.type);
  const valuePattern = compile(channels.value);
  const clockPattern = channels.clock === undefined ? undefined : compile(channels.clock);
  /** Key of the type of each channel that has had a value. */
  const known = new Map<string, string>();
  return (text) => {
    const keys = new Map<string, string>();
    for (const { channel, type } of typePattern.all(text)) {
      const key = type === undefined ? undefined : channels.keys[withoutZeros(type)];
      if (channel !== undefined && key !== undefined) keys.set(channel, key);
    }
    const values = new Map(valuePattern.all(text).map((found) => [channelOf(found), found]));
    const frameTime = clockPattern?.groups(text)?.time;
    const present = [...keys].filter(([channel]) => values.has(channel));
    for (const [channel, key] of present) known.set(channel, key);
    return present.map(([channel, base]) => {
      const isAlone = [...known.values()].filter((other) => other === base).length === 1;
      const key = isAlone ? base : `${base}${channel}`;
      const { value = '', unit, time } = values.get(channel) ?? {};
      return outcomeOf(key, () => {
        if (frameTime !== undefined && time !== undefined) refuseStale(key, { frameTime, time }, channels.staleAfterMs);
        return {
          key,
          value: numberOfText(value) ?? value,
          text: value,
          ...(unit !== undefined && { unit: UNITS[unit] ?? unit }),
        };
      });
    });
  };
}

/** @throws AgentError `sensors/meter-silent` (retry) for a value that is too old, or whose time is none. */
function refuseStale(
  key: string,
  { frameTime, time }: { readonly frameTime: string; readonly time: string },
  staleAfterMs: number,
): void {
  const [nowMs, thenMs] = [timeMs(frameTime), timeMs(time)];
  // A telegram without a time of its own says nothing of the age of others.
  if (nowMs === undefined) return;
  if (thenMs === undefined)
    throw sensorFault('meter-silent', `the meter of ${key} has never answered: the time of its value is ${time}`);
  const hours = Math.round((nowMs - thenMs) / HOUR_MS);
  if (nowMs - thenMs > staleAfterMs)
    throw sensorFault('meter-silent', `the meter of ${key} no longer answers: its value is ${hours} h old`);
}

/** Milliseconds in winter time; undefined for what is no time, such as 632525252525. */
function timeMs(text: string): number | undefined {
  const [, ...parts] = TIME.exec(text) ?? [];
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.slice(0, 6).map(Number);
  if (parts.length === 0 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 59)
    return undefined;
  return Date.UTC(2000 + year, month - 1, day, hour, minute, second) - (parts[6] === 'S' ? HOUR_MS : 0);
}

function channelOf({ channel = '' }: Readonly<Record<string, string | undefined>>): string {
  return channel;
}

function withoutZeros(type: string): string {
  return type.replace(/^0+(?=.)/, '');
}
