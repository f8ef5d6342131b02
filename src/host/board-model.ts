/** Model of this board, and the addresses under which it is reached. */
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';

/** The device tree's words on an ARM board ("Raspberry Pi 4 Model B Rev 1.4"), DMI's on a PC. */
const MODEL_FILES: readonly string[] = ['/proc/device-tree/model', '/sys/class/dmi/id/product_name'];
const MAX_MODEL_LENGTH = 128;

/** Undefined where neither the device tree nor DMI says anything. */
export async function boardModel(): Promise<string | undefined> {
  for (const path of MODEL_FILES) {
    const text = (await readFile(path, 'utf8').catch(() => '')).replaceAll('\0', '').trim();
    if (text !== '') return text.slice(0, MAX_MODEL_LENGTH);
  }
  return undefined;
}

/** All but loopback, sorted. */
export function networkAddresses(): readonly string[] {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return [...new Set(all.filter(({ internal }) => !internal).map(({ address }) => address))].sort();
}
