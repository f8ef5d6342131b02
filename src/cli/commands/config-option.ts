/** The configuration that a command reads itself. */
import { DEFAULT_CONFIG_FILE } from '../../config/default-places.ts';
import { valued } from '../command.ts';

export const CONFIG = valued('<file>', 'the configuration', { byDefault: DEFAULT_CONFIG_FILE });
