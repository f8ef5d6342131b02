/** Checks that the kernel met no errors on the disk. */
import { configCheck, fault, good, unknown } from './checkup.ts';

export const diskHealth = configCheck('disk-health', 'the disk is sound', async ({ stateFolder }, { machine }) => {
  const mount = await machine.mount(stateFolder);
  if (mount === undefined) return unknown('its mount is not known');
  const { device, errors = 0 } = mount;
  const remount = 'dmesg tells why; then mount -o remount,rw, or replace the card';
  if (mount.readOnly) return fault(`${device} is mounted read-only: the kernel met errors, or somebody wants it so`, remount);
  const replace = 'copy what matters, check it at the next boot (fsck.mode=force), and replace the card';
  return errors > 0 ? fault(`the file system on ${device} has counted ${errors} errors`, replace) : good(`${mount.type} on ${device}`);
});
