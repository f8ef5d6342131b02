/** Updates over the platform on a gateway whose power fails in between, and a release that is no good. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/values/json.ts';
import { BME280, setRegisters } from './chips.ts';
import { DiskFolder } from './disk-image.ts';
import { Guest } from './guest.ts';
import { accountOf, configuration, configure, install, TOKEN } from './installed-agent.ts';
import { PlatformView, until } from './platform-view.ts';
import { type LabRelease, makeRelease } from './release.ts';
import { recordFigure } from './results/figures.ts';

const FULL = process.env.LAB_RUN === 'full';
const CUTS = FULL ? 6 : 1;
/** From the offer to the swap, with software emulation; a cut falls anywhere within. */
const MAX_LIFE_MS = 90_000;
const UPDATE_DEADLINE_MS = 600_000;
const NAME = 'lab-updated';

describe('an update', () => {
  let disks: DiskFolder;
  let disk: string;
  let guest: Guest;
  let view: PlatformView;
  let device: string;

  const boot = async (): Promise<void> => {
    guest = await Guest.boot({ init: 'systemd', disks: [disk], upperOnDisk: true });
    await setRegisters(guest, BME280.address, BME280.registers);
  };
  const current = async (): Promise<string> =>
    (await guest.run('readlink /opt/turnstone/current')).trim().replace('releases/', '');
  const ending = async (wanted: 'UPDATED' | 'FAILED'): Promise<void> => {
    await until(
      `fw_state ${wanted}`,
      async () => {
        const newest = (await view.series(device, 'fw_state')).at(-1)?.value;
        return newest === wanted || undefined;
      },
      UPDATE_DEADLINE_MS,
    );
  };
  const uploadsAgain = async (): Promise<void> => {
    const fromMs = Date.now();
    await until(
      'a reading',
      async () => ((await view.series(device, 'roomTemperature')).at(-1)?.ts ?? 0) > fromMs || undefined,
      240_000,
    );
  };
  const assign = async (release: LabRelease): Promise<void> => {
    const owner = (await view.call('GET', `/api/tenant/devices?deviceName=${NAME}`)) as JsonObject;
    const made = (await view.call('POST', '/api/otaPackage', {
      title: 'turnstone',
      version: release.version,
      type: 'FIRMWARE',
      deviceProfileId: owner.deviceProfileId ?? null,
    })) as { readonly id: { readonly id: string } };
    const form = new FormData();
    form.append('file', new File([new Uint8Array(await readFile(release.archive))], 'release.tar.zst'));
    await view.call('POST', `/api/otaPackage/${made.id.id}?checksumAlgorithm=SHA256`, form);
    await view.call('POST', '/api/device', { ...owner, firmwareId: { id: made.id.id, entityType: 'OTA_PACKAGE' } });
  };

  beforeAll(async () => {
    disks = await DiskFolder.make();
    disk = await disks.ext4('root', 3072);
    view = await PlatformView.open();
    device = view.device(NAME, TOKEN);
    const [release] = await Promise.all([makeRelease('0.1.0-lab.1'), boot()]);
    await install(guest, release);
    await configure(guest, configuration(view.urlFromGuest, (await guest.run('cat /run/i2c-bus')).trim()));
    await guest.run('systemctl start turnstone', { deadlineMs: 120_000 });
    await uploadsAgain();
  }, 600_000);
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') console.log(await accountOf(guest).catch(String));
  });
  afterAll(async () => {
    await guest?.kill();
    await view?.close();
    await disks?.remove();
  });

  it(`reaches its end over ${CUTS} power cuts`, { timeout: CUTS * 240_000 + 900_000 }, async () => {
    await assign(await makeRelease('0.1.0-lab.2'));
    let broken = 0;
    for (let cut = 0; cut < CUTS; cut += 1) {
      await sleep(Math.random() * MAX_LIFE_MS);
      await guest.kill();
      await boot();
      broken += 1;
      await uploadsAgain();
      broken -= 1;
    }
    await ending('UPDATED');
    recordFigure('cuts', { during: 'update', cuts: CUTS, losses: broken });
    expect(await current()).toBe('0.1.0-lab.2');
    await uploadsAgain();
  });

  it.runIf(FULL)('is taken back by the guard when the new release does not stay up', { timeout: 900_000 }, async () => {
    // Well enough to pass its self-test; as a service it ends at once.
    await assign(
      await makeRelease('0.1.0-lab.3', (main) =>
        main.replace(/^const stopping/m, "if (process.argv[2] === 'run') process.exit(3);\n$&"),
      ),
    );
    await ending('FAILED');
    expect(await current()).toBe('0.1.0-lab.2');
    await uploadsAgain();
    const reason = (await view.series(device, 'fw_error')).at(-1)?.value;
    expect(String(reason)).toMatch(/starts|confirmed/);
  });

  it('keeps its releases where the service cannot write', async () => {
    expect(await guest.run('find /opt/turnstone ! -user root -o ! -group root | head')).toBe('');
  });
});
