/** Meters that another one speaks for, such as gas and water behind a P1 port: a line tells the type of each channel, another its value. */
import { z } from 'zod';
import type { ConfigPath } from './config-fault.ts';
import { duration, pattern, platformKey, section, table } from './fields.ts';
import { type Finding, finding, noEffect } from './findings.ts';

/** Meters on batteries are heard once a day at least. */
const DEFAULT_STALE_AFTER = '26h';

/** Channels of a frame of text, with the key of each type. */
export const channels = section({
  /** Finds the groups `channel` and `type`. */
  type: pattern(),
  /** Finds the groups `channel` and `value`, and `unit` and `time` where the meter tells them. */
  value: pattern(),
  /** Finds the group `time` of the frame: a value whose own time lies longer before it than `staleAfter` is none, as its meter no longer answers. */
  clock: pattern().optional(),
  staleAfter: duration({ min: '10m', max: '31d' }).prefault(DEFAULT_STALE_AFTER),
  /**
   * Key by type, without leading zeros. Where several channels have one key, each key ends in the number of its channel: gas1, gas2; from the first
   * value of the second one on, until the next start.
   */
  keys: table(z.string().min(1).max(64), platformKey()),
});

export type ChannelsConfig = z.infer<typeof channels>;

/** Channels that the configuration can name ahead. */
const NAMED_CHANNELS = 9;

/** Number of the channel behind a key that several channels have. */
export const CHANNEL_NUMBER = /[1-9]$/;

/** Returns the keys that channels can have, alone and beside others. */
export function channelKeys({ keys }: ChannelsConfig): readonly string[] {
  return [...new Set(Object.values(keys))].flatMap((key) => [
    key,
    ...Array.from({ length: NAMED_CHANNELS }, (_, at) => `${key}${at + 1}`),
  ]);
}

interface Channelled {
  readonly channels?: ChannelsConfig | undefined;
  readonly frame?: unknown;
  readonly fields?: unknown;
}

export function channelFaults({ channels: of, frame, fields }: Channelled, path: ConfigPath): Finding[] {
  if (of === undefined) return [];
  if (frame === undefined || fields !== undefined)
    return [noEffect(path, 'channels', 'a frame of text, without fields')];
  const lacking = (name: 'type' | 'value'): Finding[] =>
    ['channel', name]
      .filter((group) => !of[name].includes(`(?<${group}>`))
      .map((group) => finding([...path, 'channels', name], `no group ${group} in`, `(?<${group}>…) in it`));
  const clockless =
    of.clock === undefined || of.clock.includes('(?<time>')
      ? []
      : [finding([...path, 'channels', 'clock'], 'no group time in', '(?<time>…) in it')];
  return [...lacking('type'), ...lacking('value'), ...clockless];
}
