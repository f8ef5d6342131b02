/** Reads each sensor of a first configuration once, and marks in its text those that gave nothing. */
import { sentReading } from '../config/keys/sent-reading.ts';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { messageOf } from '../errors/agent-error.ts';
import { withinMs } from '../host/bounded-wait.ts';
import { systemClock } from '../host/clock.ts';
import { definitionOf } from '../kinds/sensor-kinds.ts';
import { printable } from '../names/printable.ts';
import type { Edge } from './edge.ts';
import { amountsOf, withProgress } from './progress.ts';
import { readOnce } from './sensors.ts';
import { valueText } from './value-text.ts';

export interface TriedSensor {
  readonly name: string;
  readonly readings: readonly { readonly key: string; readonly text: string }[];
  /** Why it gave none. */
  readonly fault?: string;
  /** It stands in the file as a comment. */
  readonly isOff?: boolean;
}

/** A board full of chips that do not answer; what was not tried in this time stays as it is. */
const WITHIN_MS = 30_000;
const MAX_FAULT_LENGTH = 200;

/** Resolves with those that were found, in their order; kinds that every machine has are not tried. */
export async function trySensors(config: AgentConfig, edge: Edge): Promise<readonly TriedSensor[]> {
  const found = config.sensors.filter(
    // Devices at a broker have announced themselves, and speak when something changes.
    ({ kind }) => definitionOf(kind).everywhere === undefined && kind !== 'mqtt',
  );
  const tried: TriedSensor[] = [];
  const tryAll = async (signal: AbortSignal): Promise<void> => {
    await withProgress(edge.stderr, 'reading each sensor', async (progress) => {
      for (const sensor of found) {
        if (signal.aborted) return;
        progress.update(tried.length, found.length, amountsOf('sensors'));
        const { name } = sensor;
        try {
          const readings = await readOnce(sensor, config, { stderr: edge.stderr, signal });
          tried.push({
            name,
            readings: readings.map((reading) => {
              const { key, value, unit } = sentReading(sensor, reading);
              return { key, text: valueText(value, unit) };
            }),
          });
        } catch (error) {
          edge.signal.throwIfAborted();
          const fault = printable(messageOf(error)).slice(0, MAX_FAULT_LENGTH);
          // A meter that speaks by itself may only not have spoken; a chip that gives no reading is another than it was taken for.
          tried.push({ name, readings: [], fault, isOff: 'bus' in sensor || 'id' in sensor });
        }
      }
    });
  };
  await withinMs(systemClock, WITHIN_MS, tryAll, edge.signal);
  return tried;
}

/** The configuration's text with a line above each sensor that gave nothing, and chips among these as comments. */
export function markSilent(text: string, tried: readonly TriedSensor[]): string {
  const silent = new Map(tried.flatMap((one) => (one.fault === undefined ? [] : [[one.name, one]])));
  const [head = '', ...sections] = text.split(/^(?=sensors:$)/m);
  const lines = sections.join('').split('\n');
  const marked = lines.flatMap((line) => {
    const [, name = ''] = /^ {2}- \{ name: ([\w-]+)/.exec(line) ?? [];
    const one = silent.get(name);
    if (one === undefined) return [line];
    const kept = one.isOff === true ? line.replace('- ', '# - ') : line;
    return [`  # It gave no reading when it was tried: ${one.fault}`, kept];
  });
  return head + marked.join('\n');
}
