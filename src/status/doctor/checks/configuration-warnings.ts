/** Checks the configuration for weak spots. */
import { check, warning } from './checkup.ts';

export const configurationWarnings = check('configuration-warnings', 'the configuration has no weak spot', ({ read, configFile }) => {
  const [first] = read.warnings;
  if (read.config === undefined || first === undefined) return undefined;
  const remedy = `change it, then turnstone check-config ${configFile}`;
  return warning(`line ${first.line}: ${first.problem}, expected ${first.expected}`, remedy);
});
