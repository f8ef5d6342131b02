/** Operations on the configuration itself: another file or a patch on trial, and what became of earlier ones. */
import type { WantedConfiguration } from '../remote-config/candidate.ts';
import type { Taken } from '../remote-config/remote-config.ts';
import type { SensorSettings } from '../remote-config/sensor-settings.ts';
import type { ConfigurationsTold } from '../remote-config/told-configurations.ts';
import { badRequest } from '../values/bad-request.ts';
import type { JsonValue } from '../values/json.ts';
import type { Asker } from './may-ask.ts';
import { memberOf, type OperationsOn, objectOf, QUESTION, SENSOR_NAME, textOf } from './operation.ts';

export interface Configurations {
  readonly tell: () => Promise<ConfigurationsTold>;
  readonly take: (
    wanted: WantedConfiguration,
    origin: 'patch' | 'page' | 'local',
    options: { readonly check: boolean },
  ) => Promise<Taken>;
  /** @throws AgentError `sensors/unknown` (drop). */
  readonly settingsOf: (sensor: string) => SensorSettings;
}

export interface ConfigurationAnswer extends Omit<Taken, 'locked'> {
  /** Changes that may not come from afar, in words. */
  readonly locked: readonly string[];
}

/** Longest file that fits into a request of the control socket, with what stands around it. */
const MAX_FILE_LENGTH = 250_000;
const ORIGINS: Readonly<Record<Asker, 'patch' | 'page' | 'local'>> = {
  platform: 'patch',
  page: 'page',
  site: 'local',
  viewer: 'local',
};

export const CONFIGURATION_OPERATIONS: OperationsOn<Configurations> = {
  configure: (configurations) => ({
    ...QUESTION,
    description:
      'Takes another configuration on trial, a whole file or a patch of the one in place; with check it is only looked at.',
    effect: 'set',
    askers: ['platform', 'site', 'page'],
    params: objectOf(
      {
        file: { type: 'string', maxLength: MAX_FILE_LENGTH, description: 'the whole file, as text' },
        patch: { type: 'object', description: 'base, set, remove and add, as the shared attribute configurationPatch' },
        base: { type: 'string', maxLength: 64, description: 'SHA-256 of the file that the new one replaces' },
        check: { type: 'boolean', description: 'look only' },
      },
      [],
    ),
    run: async (params, { asker }) => {
      const wanted = wantedOf(params);
      const { locked, ...taken } = await configurations.take(wanted, ORIGINS[asker], {
        check: memberOf(params, 'check') === true,
      });
      return { ...taken, locked: locked.map(({ path, words }) => `${path}: ${words}`) };
    },
  }),
  configurationStatus: (configurations) => ({
    ...QUESTION,
    description: 'What became of the last configuration from afar, the trial that is on, and the last ten files.',
    askers: ['platform', 'viewer', 'page'],
    run: (): Promise<ConfigurationsTold> => configurations.tell(),
  }),
  sensorSettings: (configurations) => ({
    ...QUESTION,
    description:
      'Label, period and alarms of a sensor, from the configuration in force, with the paths by which a patch changes them.',
    params: objectOf({ name: SENSOR_NAME }),
    askers: ['site', 'page'],
    run: (params): SensorSettings => configurations.settingsOf(textOf(params, 'name')),
  }),
};

/** @throws AgentError `agent/bad-request` (drop). */
function wantedOf(params: JsonValue): WantedConfiguration {
  const [file, patch] = [memberOf(params, 'file'), memberOf(params, 'patch')];
  if ((file === null) === (patch === null)) throw badRequest('params: one of file and patch is needed');
  if (file === null) return { patch };
  const base = memberOf(params, 'base') === null ? undefined : textOf(params, 'base');
  return { file: Buffer.from(String(file)), base };
}
