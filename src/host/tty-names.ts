/** Names of serial ports, as the kernel has them. */
import { readFile, realpath } from 'node:fs/promises';
import { basename } from 'node:path';

/** Returns the path that all names of one port lead to; a path that leads nowhere, as it is. */
export async function realPort(path: string): Promise<string> {
  return await realpath(path).catch(() => path);
}

/** Tells if the port is a console of this machine: its settings are those of whoever reads it. */
export async function isConsole(path: string): Promise<boolean> {
  const consoles = await readFile('/sys/class/tty/console/active', 'utf8').catch(() => '');
  return consoles.split(/\s/).includes(basename(await realPort(path)));
}
