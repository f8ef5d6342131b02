/** Commands while every write to the disk takes two seconds (dm-delay): what can act at once does. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DiskFolder } from './disk-image.ts';
import { Guest } from './guest.ts';
import { GuestAgent, makeBundle } from './guest-agent.ts';
import { PlatformView, until } from './platform-view.ts';
import { recordFigure } from './results/figures.ts';

const CALLS = process.env.LAB_RUN === 'full' ? 40 : 8;
const DELAY_MS = 2000;
const RELAY = 3;

describe('an agent on a slow disk', () => {
  let disks: DiskFolder;
  let guest: Guest;
  let view: PlatformView;
  let device: string;

  const slowDown = (delayMs: number): Promise<string> =>
    guest.run(
      `dmsetup reload slow --table "0 $(blockdev --getsz /dev/vda) delay /dev/vda 0 0 /dev/vda 0 ${delayMs}"
       dmsetup suspend slow; dmsetup resume --noudevsync slow`,
    );

  /** Each call's time, as the platform sees it, in ascending order. */
  const latencies = async (disk: string): Promise<readonly number[]> => {
    const times: number[] = [];
    for (let call = 0; call < CALLS; call += 1) {
      const startMs = performance.now();
      await view.rpc(device, 'setActuator', { name: 'pump', value: call % 2 === 0 });
      times.push(performance.now() - startMs);
      expect(Number(await guest.run(`cat /run/board/sim_gpio${RELAY}/value`))).toBe(1 - (call % 2));
    }
    times.sort((a, b) => a - b);
    const medianMs = Math.round(times[Math.floor(CALLS / 2)] ?? 0);
    recordFigure('rpcLatency', { disk, calls: CALLS, medianMs, worstMs: Math.round(times.at(-1) ?? 0) });
    return times;
  };

  beforeAll(async () => {
    [disks, view] = await Promise.all([DiskFolder.make(), PlatformView.open(), makeBundle()]);
    device = view.device('lab-slow', 'lab-slow-token');
    guest = await Guest.boot({ disks: [await disks.ext4('data', 64)] });
    await guest.run(
      `/lab/test/lab/guest/board
       dmsetup create slow --noudevsync --table "0 $(blockdev --getsz /dev/vda) delay /dev/vda 0 0 /dev/vda 0 0"; dmsetup mknodes
       mount /dev/mapper/slow /data`,
    );
    const agent = new GuestAgent(guest);
    await agent.configure(`version: 1
platform: { url: "${view.urlFromGuest}", accessToken: lab-slow-token }
stateFolder: /data/state
runFolder: /run/turnstone
time: { trust: always }
outbox: { commitAge: 200ms, minFree: 1MB }
status: { page: "off" }
firmware: { enabled: false }
sensors: [{ name: machine, kind: host, period: 1s, groups: [load] }]
actuators:
  - { name: pump, kind: gpio-output, line: { chip: lab-board, offset: ${RELAY} } }
`);
    await agent.start();
    await view.value(device, 'load1', () => true);
  });
  afterAll(async () => {
    await guest?.kill();
    await view?.close();
    await disks?.remove();
  });

  it('moves a relay by RPC without waiting for the disk', async () => {
    const quick = await latencies('sound');
    await slowDown(DELAY_MS);
    const slow = await latencies(`writes delayed by ${DELAY_MS / 1000} s`);
    expect(slow[Math.floor(CALLS / 2)]).toBeLessThan((quick[Math.floor(CALLS / 2)] ?? 0) + DELAY_MS / 4);
    expect(slow.at(-1)).toBeLessThan((quick.at(-1) ?? 0) + DELAY_MS);
  });

  it('refuses what must be on the disk first, and says why', async () => {
    const answer = await view.rpc(device, 'pulse', { name: 'pump', durationMs: 100 }).catch(String);
    expect(JSON.stringify(answer)).toMatch(/disk-stalled/);
  });

  it('goes on reporting, later', async () => {
    const fromMs = Date.now();
    await until('a reading', async () => ((await view.series(device, 'load1')).at(-1)?.ts ?? 0) > fromMs || undefined);
  });
});
