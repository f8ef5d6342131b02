/** Loads every native module there is, as a release on trial must be able to; the agent itself loads each only when its bus is used. */
import { AgentError, messageOf } from '../errors.ts';
import { nativeAddon } from '../host/native-addon.ts';

const MODULES: Readonly<Record<string, () => Promise<unknown>>> = {
  turnstone: async () => nativeAddon<object>(),
  onoff: () => import('onoff'),
  'i2c-bus': () => import('i2c-bus'),
  serialport: () => import('serialport'),
};

/** @throws AgentError `hardware/native-module` (rollback) that names the one that does not load. */
export async function loadNativeModules(): Promise<void> {
  for (const [name, load] of Object.entries(MODULES)) {
    try {
      await load();
    } catch (cause) {
      throw new AgentError('hardware/native-module', `the native module ${name} does not load: ${messageOf(cause)}`, {
        recovery: 'rollback',
        cause,
      });
    }
  }
}
