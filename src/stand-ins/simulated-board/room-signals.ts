/** Signals of a room, by key; any other key wanders around 50. */
import type { SignalConfigInput } from './signals.ts';

export const room = (base: number, drift: number, noise: number) => ({ kind: 'room', base, drift, noise }) as const;

export const TEMPERATURE: SignalConfigInput = { ...room(21.5, 0.4, 0.02), day: 2.5 };

export const ROOM_SIGNALS: Readonly<Record<string, SignalConfigInput>> = {
  temperature: TEMPERATURE,
  humidity: { ...room(45, 2, 0.1), day: -6, min: 5, max: 95 },
  pressure: { ...room(1013.2, 1.5, 0.02), day: 0.5 },
  illuminance: { ...room(400, 10, 2), day: 380, min: 0 },
  voltage: room(12.3, 0.1, 0.005),
  current: { ...room(0.8, 0.2, 0.005), min: 0 },
};
export const ANY_SIGNAL: SignalConfigInput = { ...room(50, 2, 0.2), day: 5 };

export function signalOf(key: string): SignalConfigInput {
  return ROOM_SIGNALS[key] ?? ANY_SIGNAL;
}
