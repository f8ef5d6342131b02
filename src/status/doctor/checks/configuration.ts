/** Checks the configuration for faults. */
import { check, fault, good } from './checkup.ts';

export const configuration = check('configuration', 'the configuration is right', ({ read, configFile }) => {
  const [first, ...others] = read.faults;
  if (first === undefined) return good(`${configFile} has no fault`);
  const more = others.length === 0 ? '' : `, and ${others.length} more`;
  const place = first.path === '' ? '' : `${first.path}: `;
  const value = first.value === undefined ? '' : ` ${first.value}`;
  const remedy = `turnstone check-config ${configFile} lists every fault`;
  return fault(`line ${first.line}: ${place}${first.problem}${value}${more}`, remedy);
});
