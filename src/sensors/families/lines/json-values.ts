/** Values at paths in an answer or a message of JSON. */
import { parseJsonPath, valueAt } from '../../../config/fields/json-path.ts';
import { parseJson } from '../../../values/json.ts';
import { withoutNoNumbers } from '../../../values/no-numbers.ts';
import { type Outcome, outcomeOf } from '../../kind/outcome.ts';
import { sensorFault } from '../../kind/sensor-fault.ts';
import { excerpt } from './line-format.ts';

const MAX_DEPTH = 32;

/** @throws AgentError `sensors/bad-line` (retry) for what is no JSON. */
export function valuesAtPaths(paths: Readonly<Record<string, string>> = {}, answer: string): readonly Outcome[] {
  const tree = parsedAnswer(answer);
  return Object.entries(paths).map(([key, path]) =>
    outcomeOf(key, () => {
      const value = valueAt(tree, parseJsonPath(path) ?? []);
      if (value === undefined || value === null) throw sensorFault('no-value', `the answer has nothing at ${path}`);
      return { key, value };
    }),
  );
}

function parsedAnswer(answer: string) {
  try {
    return parseJson(withoutNoNumbers(answer), { depth: MAX_DEPTH });
  } catch (cause) {
    throw sensorFault('bad-line', `an answer that is no JSON: ${excerpt(answer)}`, cause);
  }
}
