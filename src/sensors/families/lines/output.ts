/** Text that came at once, of a program or a request: all its lines together. */
import type { Outcome } from '../../kind/outcome.ts';
import { sensorFault } from '../../kind/sensor-fault.ts';
import type { LineFormat } from './definition.ts';
import type { LineParser } from './line-format.ts';

/** JSON may span lines; of anything else each line is read, and a key that comes again takes the later value. @throws AgentError `sensors/bad-line` (retry). */
export function parseOutput(text: string, format: LineFormat['format'], parse: LineParser): readonly Outcome[] {
  const lines = format === 'json' ? [text] : text.split('\n').filter((line) => line.trim() !== '');
  const outcomes = new Map<string, Outcome>();
  let fault: unknown;
  for (const line of lines) {
    try {
      for (const outcome of parse(line)) outcomes.set(outcome.key, outcome);
    } catch (error) {
      fault = error; // headings and remarks between the values are usual
    }
  }
  if (outcomes.size === 0) throw fault ?? sensorFault('bad-line', 'there is nothing to read');
  return [...outcomes.values()];
}
