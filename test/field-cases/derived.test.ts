/** Values that users make of others: rows of the table of what people connect, by a whole sampler. */
import { afterEach, expect, it } from 'vitest';
import { HardwareParts } from '../../src/agent/hardware-parts.ts';
import { thisMachine } from '../../src/agent/machine.ts';
import { AlertList } from '../../src/host/alert-list.ts';
import { silentLog } from '../../src/host/log.ts';
import type { JsonValue } from '../../src/values/json.ts';
import { until } from '../support/board-bench.ts';
import { configOf, SMALLEST } from '../support/config-file.ts';
import { MemoryFiles } from '../support/memory-files.ts';

const { signal } = new AbortController();
let parts: HardwareParts | undefined;
afterEach(() => parts?.close());

/** Last value of each key of a configuration's sensors. */
async function sampled(sensors: string): Promise<ReadonlyMap<string, JsonValue>> {
  const config = await configOf(`${SMALLEST}stateFolder: /state\nrunFolder: /run\nsensors:\n${sensors}`);
  const values = new Map<string, JsonValue>();
  const alerts = new AlertList(silentLog);
  const quiet = {
    log: silentLog,
    keyOf: (key: string) => key,
    report: () => {},
    alerts,
    localTime: () => undefined,
    reportSensor: () => {},
  };
  parts = await HardwareParts.open(
    {
      ...quiet,
      config,
      machine: { ...thisMachine, files: new MemoryFiles() },
      clientRpc: async () => null,
      onSamples: (samples) => {
        for (const { key, value } of samples) values.set(key, value);
      },
    },
    signal,
  );
  parts.sampler.start(signal);
  return values;
}

it('row 26: a value of two columns', async () => {
  const values = await sampled(`
  - { name: line, kind: command, program: /bin/echo, arguments: [OK 9 4 1 4 193 50], format: csv, separator: " ",
      columns: [status, a, b, c, high, low, rest], keys: { high: { rename: highByte } } }
  - { name: made, kind: derived, values: { temperature: (highByte * 256 + low - 1000) / 10 } }
  - { name: again, kind: derived, values: { isWarm: temperature > 20 } }`);
  await until('the value of a value', () => values.has('isWarm'));
  expect([values.get('temperature'), values.get('isWarm')]).toEqual([21.7, true]);
});

it('check-config refuses an expression that is none, keys that nobody gives, and values made of themselves', async () => {
  const of = (values: string): Promise<unknown> =>
    configOf(`${SMALLEST}sensors:
  - { name: battery, kind: ina219 }
  - { name: made, kind: derived, values: ${values} }`);
  await expect(of('{ p: voltage * current }')).resolves.toBeDefined();
  await expect(of('{ p: voltage *  }')).rejects.toThrow(/sensors\[1\]\.values\.p: no expression \(Unexpected/);
  await expect(of('{ p: voltage * curent }')).rejects.toThrow(/no sensor gives curent.*did you mean "current"/s);
  await expect(of('{ p: 1 + 1 }')).rejects.toThrow(/made of no key/);
  await expect(of('{ p: q + 1, q: voltage + p }')).rejects.toThrow(/made of itself/);
  await expect(of('{ p: p_mean + voltage }, window: { length: 1m }')).rejects.toThrow(/made of itself/);
  await expect(of('{}')).rejects.toThrow(/at least one/);
});
