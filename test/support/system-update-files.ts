/** The machine's disk, as updates change it. */

import { updateFiles } from '../../src/firmware/update-files.ts';
import { systemFiles } from '../../src/host/files.ts';

export const systemUpdateFiles = updateFiles(systemFiles);
