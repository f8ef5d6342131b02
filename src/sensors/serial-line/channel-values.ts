/** Values of the channels in a frame of text: the type of each channel chooses its key, so that water is never taken for gas. */
import type { ChannelsConfig } from '../../config/fields/channels.ts';
import { type CompilePattern, loadLinearPatterns } from '../../values/linear-pattern.ts';
import { numberOfText } from '../conversion/text-number.ts';
import { type Outcome, outcomeOf } from '../kind/outcome.ts';

/** Spellings of meters, and units as people write them. */
const UNITS: Readonly<Record<string, string>> = { m3: 'm³' };

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
  /** Key of the type of each channel that has had a value. */
  const known = new Map<string, string>();
  return (text) => {
    const keys = new Map<string, string>();
    for (const { channel, type } of typePattern.all(text)) {
      const key = type === undefined ? undefined : channels.keys[withoutZeros(type)];
      if (channel !== undefined && key !== undefined) keys.set(channel, key);
    }
    const values = new Map(valuePattern.all(text).map((found) => [channelOf(found), found]));
    const present = [...keys].filter(([channel]) => values.has(channel));
    for (const [channel, key] of present) known.set(channel, key);
    return present.map(([channel, base]) => {
      const isAlone = [...known.values()].filter((other) => other === base).length === 1;
      const key = isAlone ? base : `${base}${channel}`;
      const { value = '', unit } = values.get(channel) ?? {};
      return outcomeOf(key, () => ({
        key,
        value: numberOfText(value) ?? value,
        text: value,
        ...(unit !== undefined && { unit: UNITS[unit] ?? unit }),
      }));
    });
  };
}

function channelOf({ channel = '' }: Readonly<Record<string, string | undefined>>): string {
  return channel;
}

function withoutZeros(type: string): string {
  return type.replace(/^0+(?=.)/, '');
}
