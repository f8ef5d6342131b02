/**
 * Self-test that a release passes before root lets it run: it loads, its native modules load, and it accepts this machine's configuration. It
 * runs without the service's secrets, so faults that only they could mend are none of the release.
 */
import { type ConfigFault, faultLine, sectionOf } from '../config/fields/config-fault.ts';
import { readConfig } from '../config/read-config.ts';
import { AgentError, hasCode } from '../errors/agent-error.ts';
import { loadNativeModules } from '../hardware/linux-native-modules.ts';
import type { Environment } from '../host/environment.ts';
import type { SelfTestCall } from './commands/firmware.ts';

/** Faults of the place, not of the text: a variable, credential, file or program that is not there or not for this user. */
const OF_THE_PLACE = /^(environment variable not set|no (such )?(file|program)|no permission|cannot read|empty file)/;

/** @throws AgentError `cli/self-test` or `hardware/native-module` (rollback) with the first thing that is wrong. */
export async function testSelf({ flags: { config }, edge, print }: SelfTestCall): Promise<void> {
  await loadNativeModules();
  const faults = config === undefined ? [] : await faultsOf(config, edge.environment);
  const unmet = new Set(faults.filter(isOfThePlace).map(sectionOf));
  const own = faults.find((fault) => !unmet.has(sectionOf(fault)));
  if (own === undefined) return print.write('ok\n');
  const said = `this release refuses the configuration: ${faultLine(config ?? '', own)}`;
  throw new AgentError('cli/self-test', said, { recovery: 'rollback' });
}

async function faultsOf(configFile: string, environment: Environment): Promise<readonly ConfigFault[]> {
  try {
    return (await readConfig(configFile, { environment })).faults;
  } catch (error) {
    // A machine that is not set up yet: nothing to refuse.
    if (hasCode(error, 'config/unreadable')) return [];
    throw error;
  }
}

function isOfThePlace({ problem, expected }: ConfigFault): boolean {
  return OF_THE_PLACE.test(problem) || expected.startsWith('a credential given by systemd');
}
