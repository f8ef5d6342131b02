/** The whole agent, cut off at random moments: while it uploads, and while it makes itself a device at first boot. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DiskFolder } from './disk-image.ts';
import { Guest } from './guest.ts';
import { GuestAgent, makeBundle } from './guest-agent.ts';
import { linesOf } from './lines.ts';
import { PlatformView, until } from './platform-view.ts';
import { recordFigure } from './results/figures.ts';

const FULL = process.env.LAB_RUN === 'full';
const UPLOAD_CUTS = FULL ? 8 : 1;
const PROVISION_CUTS = FULL ? 8 : 1;
/** A Node that is emulated takes some seconds to the first token; a cut falls before, within or after. */
const MAX_FIRST_BOOT_MS = 10_000;
const NAME = 'lab-first-boot';

describe('an agent whose machine loses power', () => {
  let disks: DiskFolder;
  let view: PlatformView;
  beforeAll(async () => {
    [disks, view] = await Promise.all([DiskFolder.make(), PlatformView.open(), makeBundle()]);
  });
  afterAll(async () => {
    await view?.close();
    await disks?.remove();
  });

  it(`delivers every reading that was durable, over ${UPLOAD_CUTS} cuts`, {
    timeout: 120_000 * (UPLOAD_CUTS + 2),
  }, async () => {
    const device = view.device('lab-uploads', 'lab-upload-token');
    const disk = await disks.ext4('uploads', 64);
    const durable = new Set<number>();
    let next = 1;
    for (let life = 0; life <= UPLOAD_CUTS; life += 1) {
      const guest = await Guest.boot({ disks: [disk] });
      const [meter, record] = [await guest.serial('ttyS1'), await guest.serial('ttyS2')];
      linesOf(record).on('line', (line) => {
        const number = /"key":"n","value":(\d+)/.exec(line)?.[1];
        if (number !== undefined) durable.add(Number(number));
      });
      const talking = setInterval(() => meter.write(`{"n": ${next++}}\n`), 100);
      await guest.run('mount /dev/vda /data && stty -F /dev/ttyS2 raw -echo');
      const agent = new GuestAgent(guest);
      await agent.configure(`version: 1
platform: { url: "${view.urlFromGuest}", accessToken: lab-upload-token }
stateFolder: /data/state
runFolder: /run/turnstone
time: { trust: always }
outbox: { commitAge: 200ms, minFree: 1MB }
status: { page: "off" }
firmware: { enabled: false }
sensors: [{ name: meter, kind: serial-line, port: /dev/ttyS1, format: json, period: 10s }]
`);
      const before = durable.size;
      await agent.start('--record-appends /dev/ttyS2');
      await until('readings that are durable', async () => durable.size > before + 10 || undefined);
      await sleep(Math.random() * 4000);
      clearInterval(talking);
      if (life === UPLOAD_CUTS) {
        const arrived = async (): Promise<ReadonlySet<number>> =>
          new Set((await view.series(device, 'n')).map(({ value }) => Number(value)));
        await until('everything to arrive', async () => {
          const found = await arrived();
          return [...durable].every((number) => found.has(number)) || undefined;
        }).catch(() => undefined);
        const found = await arrived();
        const lost = [...durable].filter((number) => !found.has(number));
        recordFigure('cuts', { during: 'sampling and upload', cuts: UPLOAD_CUTS, losses: lost.length });
        expect(lost).toEqual([]);
        expect(durable.size).toBeGreaterThan(UPLOAD_CUTS * 10);
      }
      await guest.kill();
    }
  });

  it(`becomes one device, over ${PROVISION_CUTS} cuts of its first boot`, {
    timeout: 120_000 * (PROVISION_CUTS + 2),
  }, async () => {
    const { registry } = view.platform.state;
    view.platform.state.registry.profiles.put({
      ...registry.defaultProfile,
      id: crypto.randomUUID(),
      name: 'gateways',
      isDefault: false,
      provisionType: 'ALLOW_CREATE_NEW_DEVICES',
      provisionDeviceKey: 'lab-key',
      provisionDeviceSecret: 'lab-secret',
    });
    const disk = await disks.ext4('first-boot', 64);
    for (let life = 0; life <= PROVISION_CUTS; life += 1) {
      const guest = await Guest.boot({ disks: [disk] });
      await guest.run('mount /dev/vda /data');
      const agent = new GuestAgent(guest);
      await agent.configure(`version: 1
platform: { url: "${view.urlFromGuest}" }
provisioning: { deviceName: ${NAME}, deviceKey: lab-key, deviceSecret: lab-secret }
stateFolder: /data/state
runFolder: /run/turnstone
time: { trust: always }
outbox: { commitAge: 200ms, minFree: 1MB }
status: { page: "off" }
firmware: { enabled: false }
sensors: [{ name: machine, kind: host, period: 1s, groups: [load] }]
`);
      const fromMs = Date.now();
      await agent.start();
      if (life < PROVISION_CUTS) await sleep(Math.random() * MAX_FIRST_BOOT_MS);
      else {
        const device = await view.provisioned(NAME);
        await until(
          'a reading',
          async () => ((await view.series(device, 'load1')).at(-1)?.ts ?? 0) > fromMs || undefined,
          120_000,
        );
        const devices = registry.devices.all.filter(({ name }) => name.startsWith(NAME));
        recordFigure('cuts', { during: 'provisioning', cuts: PROVISION_CUTS, losses: devices.length - 1 });
        expect(devices.length).toBe(1);
      }
      await guest.kill();
    }
  });
});
