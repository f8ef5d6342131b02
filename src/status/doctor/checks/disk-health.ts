/** Whether the kernel met errors on the disk. */
import { configCheck, fault, good, unknown } from '../checkup.ts';

export const diskHealth = configCheck('disk-health', 'the disk is sound', async ({ stateFolder }, { machine }) => {
  const mount = await machine.mount(stateFolder);
  if (mount === undefined) return unknown('its mount is not known');
  if (mount.readOnly)
    return fault(
      `${mount.device} is mounted read-only: the kernel met errors, or somebody wants it so`,
      `dmesg tells why; then mount -o remount,rw, or replace the card`,
    );
  if ((mount.errors ?? 0) > 0)
    return fault(
      `the file system on ${mount.device} has counted ${mount.errors} errors`,
      'copy what matters, check it at the next boot (fsck.mode=force), and replace the card',
    );
  return good(`${mount.type} on ${mount.device}`);
});
