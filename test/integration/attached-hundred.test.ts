/** The whole agent with a hundred devices of ten keys each, of which four get into trouble: the others lose nothing, and none of them is held. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  DELETED,
  deviceOfKey,
  FAILING,
  FaultyDevices,
  isInTrouble,
  REFUSED,
  SLOW,
} from '../bench/devices-bench/faulty-devices.ts';
import { AGENT_PROGRAM } from '../support/agent-program.ts';

const DEVICES = 100;
const KEYS = 10;
const EACH_PHASE_MS = 6_000;
const WITHIN_MS = 90_000;

let run: FaultyDevices;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-hundred-'));
  const program = [process.execPath, AGENT_PROGRAM] as const;
  run = await FaultyDevices.start({
    folder,
    program: [...program],
    devices: DEVICES,
    meters: DEVICES,
    period: '3s',
    uploadInterval: '0s',
  });
}, 180_000);

afterAll(async () => {
  await run?.close();
  await rm(folder, { recursive: true, force: true });
});

describe('a hundred attached devices', () => {
  it('lose nothing and are not held while one is refused, one meets a failing server, one is slow and one is deleted', async () => {
    await expect.poll(async () => (await run.read()).size, { timeout: WITHIN_MS, interval: 500 }).toBe(DEVICES * KEYS);
    await delay(EACH_PHASE_MS);
    expect(await run.held()).toEqual([]);
    run.plantFaults();
    await expect
      .poll(() => run.held(), { timeout: WITHIN_MS })
      .toEqual(expect.arrayContaining([REFUSED, FAILING, DELETED].sort()));
    await delay(EACH_PHASE_MS);
    expect((await run.held()).filter((device) => !isInTrouble(device))).toEqual([]);
    await run.agent.stop();
    const [read, arrived] = [await run.read(), run.arrived()];
    expect(read.size).toBe(DEVICES * KEYS);
    for (const [key, values] of read) {
      const device = deviceOfKey(key);
      expect(values.length, key).toBeGreaterThan(1);
      if (!isInTrouble(device)) expect(arrived.get(device)?.get(key), key).toEqual(values);
    }
    for (const [device, own] of arrived)
      expect(
        [...own.keys()].filter((key) => deviceOfKey(key) !== device),
        device,
      ).toEqual([]);
    expect(arrived.get(SLOW)?.size).toBe(KEYS);
  }, 300_000);
});
