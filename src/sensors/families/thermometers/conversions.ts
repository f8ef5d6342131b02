/** What thermometers with one register share: readings in their range, and none from before the first conversion. */
import type { Clock } from '../../../host/clock.ts';
import type { Reading } from '../../sensor.ts';
import { withinRange } from '../../sensor-fault.ts';
import { UNITS } from './definition.ts';

/** °C: a 0 after such a reading is believed. */
const CLOSE_TO_ZERO = 2;

/** Readings after a conversion where there may have been none: 0 °C is what a chip shows that has just been switched on. */
export function conversionsOf(conversionMs: number, clock: Clock) {
  let before: number | undefined;
  return async (wasAsleep: boolean, give: () => Promise<Reading>, signal: AbortSignal): Promise<Reading> => {
    if (wasAsleep) await clock.sleep(conversionMs, signal);
    let reading = await give();
    const isExpected = before !== undefined && Math.abs(before) <= CLOSE_TO_ZERO;
    if (reading.value === 0 && !wasAsleep && !isExpected) {
      await clock.sleep(conversionMs, signal);
      reading = await give();
    }
    before = Number(reading.value);
    return reading;
  };
}

export function celsius(value: number, range: readonly [number, number]): Reading {
  return { key: 'temperature', value: withinRange('temperature', value, range), unit: UNITS.temperature };
}
