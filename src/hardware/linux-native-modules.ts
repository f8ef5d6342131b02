/** Loads every native module there is, as a release on trial must be able to; the agent itself loads each only when its bus is used. */
import { AgentError, messageOf } from '../errors/agent-error.ts';
import { nativeAddon } from '../host/native-addon.ts';

/** Each with what is used of it: a bundle may load a module and have lost its names. */
const MODULES: Readonly<Record<string, () => Promise<unknown>>> = {
  turnstone: async () => nativeAddon<object>(),
  onoff: async () => (await import('onoff')).Gpio,
  'i2c-bus': async () => (await import('i2c-bus')).openPromisified,
  serialport: async () => (await import('serialport')).SerialPort,
};

/** @throws AgentError `hardware/native-module` (rollback) that names the one that does not load. */
export async function loadNativeModules(): Promise<void> {
  for (const [name, load] of Object.entries(MODULES)) {
    try {
      if ((await load()) === undefined) throw new Error('what is used of it is not in it');
    } catch (cause) {
      const what = `the native module ${name} does not load: ${messageOf(cause)}`;
      throw new AgentError('hardware/native-module', what, { recovery: 'rollback', cause });
    }
  }
}
