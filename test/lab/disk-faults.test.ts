/** Disks that refuse writes and disks that lie, beneath a real file system. */
import { afterAll } from 'vitest';
import { DiskFolder } from './disk-image.ts';
import { Guest } from './guest.ts';
import { insideSuite } from './inside-suite.ts';

const disks = await DiskFolder.make();
const guest = await Guest.boot({ disks: [await disks.empty('data', 64)] });
afterAll(async () => {
  await guest.kill();
  await disks.remove();
});
await insideSuite(guest, { files: ['test/lab/inside/disk-faults.inside.ts'] });
