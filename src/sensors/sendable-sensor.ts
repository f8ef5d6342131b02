/**
 * A sensor whose keys come from outside: a line, a program, a user's own driver. From here on each goes by the name under which the platform
 * keeps it, so that no screen, rule or log knows it by another.
 */
import type { Reading, Sensor } from './sensor.ts';

export function withSendableKeys(sensor: Sensor, keyOf: (key: string) => string): Sensor {
  const named = (readings: readonly Reading[]): readonly Reading[] =>
    readings.map((reading) => {
      const key = keyOf(reading.key);
      return key === reading.key ? reading : { ...reading, key };
    });
  const { name, speaksByItself } = sensor;
  return {
    name,
    ...(speaksByItself !== undefined && { speaksByItself }),
    read: async (signal) => named(await sensor.read(signal)),
    refused: () => (sensor.refused?.() ?? []).map((refusal) => ({ ...refusal, key: keyOf(refusal.key) })),
    ...(sensor.subscribe !== undefined && {
      subscribe: (listener) => sensor.subscribe?.((readings) => listener(named(readings))) ?? (() => {}),
    }),
    close: () => sensor.close(),
  };
}
