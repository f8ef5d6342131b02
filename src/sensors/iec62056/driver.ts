/** A meter that is asked, or one that sends by itself (mode D): data sets, told as readings. What went wrong is told in words with what to do. */

import { sorted } from '../kind/outcome.ts';
import type { Reading, Refusal, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import { openAsker } from './asker.ts';
import type { Iec62056Config } from './definition.ts';
import type { Identification } from './frames.ts';
import { openListener } from './listener.ts';
import { identityOf, outcomesOf, setsIn } from './values.ts';

/** Outcome of one read of a meter. */
export interface Readout {
  readonly identification: Identification;
  readonly text: string;
  /** Time of its end, where it came by itself. */
  readonly monotonicMs?: number;
}

export interface ReadoutSource {
  /** @throws AgentError (retry). */
  read(signal: AbortSignal): Promise<Readout>;
  close(): Promise<void>;
}

export async function open(config: Iec62056Config, deps: SensorDeps, signal: AbortSignal): Promise<Sensor> {
  const { name, mode, codes } = config;
  const source = await (mode === 'D' ? openListener(config, deps, signal) : openAsker(config, deps, signal));
  let wasTold = false;
  let refused: readonly Refusal[] = [];
  return {
    name,
    read: async (inner) => {
      refused = [];
      const { identification, text, monotonicMs } = await source.read(inner);
      const sets = setsIn(text);
      const found = sorted(outcomesOf(sets, identification.maker, codes));
      if (found.readings.length === 0)
        throw sensorFault(
          'no-value',
          `the meter ${identification.text} has no value that is known here; its codes: ${codesOf(sets)}: name them under codes`,
        );
      refused = found.refused;
      const identity = wasTold ? [] : identityOf(identification, sets);
      wasTold = true;
      return [...identity, ...found.readings].map(
        (reading): Reading => (monotonicMs === undefined ? reading : { ...reading, monotonicMs }),
      );
    },
    refused: () => refused,
    close: () => source.close(),
  };
}

/** The first codes, for people. */
function codesOf(sets: ReturnType<typeof setsIn>): string {
  const names = [...new Set(sets.map(({ code }) => code))];
  return names.length === 0 ? 'none' : names.slice(0, 8).join(', ');
}
