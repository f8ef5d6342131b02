/** Which hardware a configuration uses, also when something else in it is wrong: for commands that look at buses. */
import type { Environment } from '../host/environment.ts';
import { DEFAULT_CONFIG_FILE } from './default-places.ts';
import { peek } from './peek-folders.ts';
import { type HardwareConfig, hardwareSchema } from './schema/local.ts';

/** The hardware section of a configuration file, or of the installed one; this machine's hardware when there is none to read. */
export async function peekHardware(file: string | undefined, environment: Environment): Promise<HardwareConfig> {
  const parsed = hardwareSchema.safeParse((await peek(file ?? DEFAULT_CONFIG_FILE, environment)).hardware ?? {});
  return parsed.success ? parsed.data : { board: 'linux', gpio: 'auto' };
}
