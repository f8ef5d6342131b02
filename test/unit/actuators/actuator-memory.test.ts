/** What of a pin outlives the process: which marks are written, when, and what a later process makes of them. */
import { beforeEach, describe, expect, it } from 'vitest';
import { ActuatorMemory } from '../../../src/actuators/actuator-memory.ts';
import { KEPT_PULSES_FORMAT, KeptPulses } from '../../../src/actuators/kept-pulses.ts';
import type { ActuatorSettings } from '../../../src/actuators/kind/actuator.ts';
import { OUTPUTS_FORMAT, OutputFile } from '../../../src/actuators/output-file.ts';
import { PinRecord } from '../../../src/actuators/pin-record.ts';
import { PulseMarks } from '../../../src/actuators/pulse-marks.ts';
import { silentLog } from '../../../src/host/log.ts';
import { StateFile } from '../../../src/store/state-file.ts';
import { relaySettings } from '../../support/fake-actuator.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const FILE = '/state/outputs.json';
let clock: FakeClock;
let files: MemoryFiles;
let memory: ActuatorMemory;
let warnings: object[];

async function open(bootId = 'boot-1'): Promise<void> {
  const log = { ...silentLog, warn: (fields: object) => void warnings.push(fields) };
  clock = new FakeClock({ bootId });
  const outputs = await OutputFile.open(new StateFile({ ...OUTPUTS_FORMAT, path: FILE, files, clock, log }), clock);
  memory = new ActuatorMemory({ outputs, pulseMarks: await PulseMarks.open('/run', log, { files, bootId }) });
}

function pin(changes: Partial<ActuatorSettings> = {}): PinRecord {
  const settings = relaySettings('pin', changes);
  const record = new PinRecord({ settings, clock, history: memory.historyOf('pin'), left: memory.leftMark(settings) });
  record.learn(false);
  return record;
}

const markText = (): unknown =>
  files.paths.includes('/run/pulses/pin') ? JSON.parse(files.contentOf('/run/pulses/pin').toString()) : undefined;
const pulse = { durationMs: 100, onEnd: () => {} };

beforeEach(async () => {
  files = new MemoryFiles();
  warnings = [];
  await open();
});

describe('a mark', () => {
  it('is made before a pulse, once, and gone when the pin is known to be off', () => {
    const record = pin();
    memory.mark(record);
    expect(markText()).toBeUndefined();
    const claim = record.claim(true, pulse);
    memory.mark(record);
    expect(markText()).toEqual({ bootId: 'boot-1', sinceMs: 10_000, pulse: true });
    const made = files.changes.length;
    memory.mark(record);
    memory.update(record);
    expect(files.changes.length).toBe(made);
    record.giveBack(claim);
    memory.update(record);
    expect(markText()).toBeUndefined();
    const gone = files.changes.length;
    memory.update(record);
    expect(files.changes.length).toBe(gone);
  });

  it('says whether it is a pulse that has to end', () => {
    const record = pin({ limits: { maxOnMs: 1_000 } });
    const claim = record.claim(true, pulse);
    record.begin(claim);
    memory.mark(record);
    record.took(claim);
    record.giveBack(claim);
    expect(markText()).toMatchObject({ pulse: true });
    const person = record.claim(true);
    record.begin(person);
    record.took(person);
    record.giveBack(person);
    memory.update(record);
    expect(markText()).toMatchObject({ pulse: false });
  });

  it('that cannot be made keeps a pin from going on, and none that is on from being told of', () => {
    const record = pin();
    record.claim(true, pulse);
    files.faults = { fail: () => ({ code: 'ENOSPC' }) };
    expect(() => memory.mark(record)).toThrow(
      expect.objectContaining({ code: 'actuators/not-marked', recovery: 'retry' }),
    );
    memory.update(record);
    files.faults = {};
    memory.update(record);
    expect(markText()).toMatchObject({ pulse: true });
  });

  it('that a full folder took the name of is taken away again, or completed, as it would say pulse to the next process', () => {
    const record = pin({ limits: { maxOnMs: 1_000 } });
    const full = { fail: (operation: string) => (operation === 'write' ? { code: 'ENOSPC' } : undefined) };
    const refused = record.claim(true, pulse);
    files.faults = full;
    expect(() => memory.mark(record)).toThrow(/ENOSPC/);
    expect(files.contentOf('/run/pulses/pin').length).toBe(0);
    record.giveBack(refused);
    memory.update(record);
    expect(files.paths).toEqual([]);
    files.faults = {};
    const on = record.claim(true);
    memory.mark(record);
    record.begin(on);
    files.faults = full;
    const again = record.claim(true, pulse);
    expect(() => memory.mark(record)).toThrow(/ENOSPC/);
    record.giveBack(again);
    files.faults = {};
    memory.update(record);
    expect(markText()).toMatchObject({ pulse: false });
  });

  it('that cannot be taken away is said, and tried again with the next change', () => {
    const record = pin();
    const claim = record.claim(true, pulse);
    memory.mark(record);
    files.faults = { fail: () => ({ code: 'EACCES' }) };
    record.giveBack(claim);
    memory.update(record);
    expect(warnings).toEqual([{ actuator: 'pin', error: expect.stringContaining('EACCES') }]);
    files.faults = {};
    memory.update(record);
    expect(files.paths).toEqual([]);
  });

  it('of an earlier process is known to the next, which takes it away', async () => {
    const record = pin({ limits: { maxOnMs: 1_000 } });
    record.claim(true);
    memory.mark(record);
    await open();
    expect([memory.leftMark({ name: 'pin', limits: {} }), memory.leftMark({ name: 'other', limits: {} })]).toEqual([
      { sinceMs: 10_000, pulse: false },
      undefined,
    ]);
    memory.update(pin({ limits: { maxOnMs: 1_000 } }));
    expect(markText()).toBeUndefined();
  });

  it('of an earlier process stays while nobody knows whether an on that failed has moved it: it is switched off at the next start', async () => {
    const before = pin();
    before.claim(true, pulse);
    memory.mark(before);
    await open();
    const record = pin();
    record.want(true, 'rpc');
    record.lose('bus busy');
    memory.update(record);
    expect(markText()).toMatchObject({ pulse: true });
    record.learn(true);
    memory.update(record);
    expect(markText()).toBeUndefined();
  });

  it('of another boot, or that cannot be understood, is a pulse that should have ended', async () => {
    const old = { sinceMs: 0, pulse: true };
    files.put('/run/pulses/other-boot', JSON.stringify({ bootId: 'boot-0', sinceMs: 5, pulse: false }));
    files.put('/run/pulses/no-time', JSON.stringify({ bootId: 'boot-1', pulse: false }));
    files.put('/run/pulses/empty', '');
    files.put('/run/pulses/list', '[]');
    files.put('/run/pulses/plain', JSON.stringify({ bootId: 'boot-1', sinceMs: 5 }));
    await open();
    expect(['other-boot', 'no-time', 'empty', 'list'].map((name) => memory.leftMark({ name, limits: {} }))).toEqual([
      old,
      old,
      old,
      old,
    ]);
    expect(memory.leftMark({ name: 'plain', limits: {} })).toEqual({ sinceMs: 5, pulse: true });
    files.faults = { fail: (operation) => (operation === 'read' ? { code: 'EIO' } : undefined) };
    await open();
    expect(memory.leftMark({ name: 'plain', limits: {} })).toEqual(old);
  });
});

it('an output that an earlier process may have left in a pulse stays on the list while nobody knows whether an on that failed has moved it', async () => {
  const path = '/state/pulses.json';
  files.put(path, JSON.stringify({ ...KEPT_PULSES_FORMAT, state: { actuators: ['pin'] } }));
  const file = new StateFile({ ...KEPT_PULSES_FORMAT, path, files, clock, log: silentLog });
  const keptPulses = await KeptPulses.open(file, clock, ['pin']);
  const outputs = await OutputFile.open(
    new StateFile({ ...OUTPUTS_FORMAT, path: FILE, files, clock, log: silentLog }),
    clock,
  );
  memory = new ActuatorMemory({
    outputs,
    keptPulses,
    pulseMarks: await PulseMarks.open('/run', silentLog, { files, bootId: 'boot-1' }),
  });
  const listed = async (): Promise<unknown> => {
    await clock.advance(60_000);
    return JSON.parse(files.contentOf(path).toString()).state.actuators;
  };
  const record = pin({ ownSupply: true });
  record.want(true, 'rpc');
  record.lose('bus busy');
  expect(record.mark?.pulse).not.toBe(true);
  memory.update(record);
  expect(await listed()).toEqual(['pin']);
  record.learn(true);
  memory.update(record);
  expect(await listed()).toEqual([]);
});
