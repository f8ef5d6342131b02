import { describe, expect, it } from 'vitest';
import { openLocalDoor } from '../../../src/operations/local-door.ts';
import { operationsOf } from '../../../src/operations/operation-table.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { openFirmwareUpdates, walkThrough } from '../../support/firmware-updates-bench.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { doorTo } from '../../support/socket-operations.ts';

const never = new AbortController().signal;
const JOURNAL = '/var/lib/turnstone/firmware/firmware-update.json';

describe('updates that are switched off', () => {
  it.each([
    ['firmwareInstall', { path: '/release' }],
    ['firmwareRollback', { version: '1.0.0' }],
    ['firmwareRollback', {}],
    ['firmwareCheck', {}],
  ])('are refused at once: %s', async (method, params) => {
    const side = await openFirmwareUpdates({ enabled: false });
    await expect(
      openLocalDoor('site', doorTo(operationsOf({ firmware: side }))).ask(method, params, never),
    ).rejects.toMatchObject({
      code: 'firmware/disabled',
    });
    expect(side.status()).not.toMatchObject({ beginning: expect.anything() });
  });
});

describe('updates of which nothing is known', () => {
  it('are no reason not to start, and are said to be impossible', async () => {
    const files = new MemoryFiles();
    files.put(JOURNAL, '{}');
    files.faults = {
      fail: (operation, path) => (operation === 'read' && path === JOURNAL ? { code: 'EIO' } : undefined),
    };
    const side = await openFirmwareUpdates({}, { files });
    expect(side.status().fault).toContain('EIO');
    expect(side.summary().error).toContain('EIO');
  });
});

it('an update that waits for the end of a lockout is an alert, and said with its state', async () => {
  const files = new MemoryFiles();
  const clock = new FakeClock();
  const update = {
    id: 'u',
    title: 'turnstone',
    version: '9.0.0',
    source: 'platform',
    from: '1.0.0',
    startedAtMs: 0,
    unanswered: 0,
  };
  const journal = {
    format: 'turnstone-firmware-journal',
    version: 1,
    state: 'requesting',
    update: { ...update, attempts: 0 },
    history: [],
  };
  files.put(JOURNAL, JSON.stringify(journal));
  const raised = new Map<string, string>();
  const alerts = {
    raise: (name: string, message: string) => void raised.set(name, message),
    clear: (name: string) => void raised.delete(name),
  };
  let locked = true;
  const side = await openFirmwareUpdates({}, { files, clock, alerts, locked: () => locked });
  const stop = new AbortController();
  const running = side.run(stop.signal);
  await clock.advance(60_000);
  const why = 'the machine is locked out: someone works on it';
  expect([...raised]).toEqual([['firmware update', `the update to turnstone 9.0.0 waits: ${why}`]]);
  expect(side.summary()).toMatchObject({ state: 'UPDATING', error: why });
  locked = false;
  await clock.advance(5_000);
  expect([...raised]).toEqual([]);
  stop.abort();
  await clock.advance(0);
  await running;
});

describe('an update that failed', () => {
  const refused = (prefix: string, version: string) => ({
    [`${prefix}_title`]: 'toaster',
    [`${prefix}_version`]: version,
    [`${prefix}_checksum`]: 'ab',
    [`${prefix}_url`]: 'https://files.example/toaster?signature=fixture',
  });
  const failed = (version: string) => ({
    title: 'toaster',
    version,
    reason: 'nothing here is called "toaster"',
    endedAtMs: expect.any(Number),
  });

  it('is told of after its end, of either kind, by the next start too', async () => {
    const files = new MemoryFiles();
    const clock = new FakeClock();
    const side = await openFirmwareUpdates({}, { files, clock });
    expect(side.summary()).not.toMatchObject({ failed: expect.anything() });
    await walkThrough(side, clock, [{ ...refused('fw', '2'), ...refused('sw', '3') }]);
    expect(side.status().state).toBe('idle');
    expect(side.summary().failed).toEqual([failed('2'), failed('3')]);
    expect((await openFirmwareUpdates({}, { files, clock })).summary().failed).toEqual([failed('2'), failed('3')]);
  });

  it('is told of until another succeeds', async () => {
    const clock = new FakeClock();
    const side = await openFirmwareUpdates({}, { clock });
    const good = { fw_title: 'turnstone', fw_version: side.status().running, fw_checksum: 'ab' };
    await walkThrough(side, clock, [refused('fw', '2'), good]);
    expect(side.status().history.map(({ outcome }) => outcome)).toEqual(['UPDATED', 'FAILED']);
    expect(side.summary()).not.toMatchObject({ failed: expect.anything() });
  });
});
