/** The file of all outputs: what a later process of this boot, one of the next boot, and one after an update finds in it. */
import { beforeEach, describe, expect, it } from 'vitest';
import { OUTPUTS_FORMAT, OutputFile } from '../../../src/actuators/output-file.ts';
import { reduce } from '../../../src/actuators/priority-array.ts';
import { EMPTY_SLOTS, type SlotEvent, type Slots } from '../../../src/actuators/priority-slots.ts';
import { silentLog } from '../../../src/host/log.ts';
import { StateFile } from '../../../src/store/state-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const HOUR_MS = 3_600_000;
const WALL_MS = Date.UTC(2026, 10, 27);
let files: MemoryFiles;

const stateFile = (name: string, format: { format: string; version: number }, clock: FakeClock): StateFile =>
  new StateFile({ ...format, path: `/state/${name}.json`, files, clock, log: silentLog });

async function open(clock: FakeClock): Promise<OutputFile> {
  return await OutputFile.open(stateFile('outputs', OUTPUTS_FORMAT, clock), clock);
}

async function keep(
  slots: Slots,
  clock = new FakeClock({ bootId: 'a', monotonicMs: 0, wallMs: WALL_MS }),
): Promise<FakeClock> {
  const file = await open(clock);
  file.set('pump', { slots });
  await file.close();
  return clock;
}

const commanded = (more: object = {}): Slots =>
  reduce(EMPTY_SLOTS, {
    kind: 'commanded',
    operator: { value: true, by: 'rpc', until: 'release', ...more },
    atMs: 0,
  } as SlotEvent);

beforeEach(() => {
  files = new MemoryFiles();
});

it('gives a process of the same boot the slots as they were', async () => {
  const events: SlotEvent[] = [
    {
      kind: 'configured',
      rules: [{ name: 'hot', protect: true, set: true, sensorLost: false, version: '7' }],
      atMs: 1,
    },
    { kind: 'read', rule: 'hot', holds: true, atMs: 2 },
    { kind: 'silent', value: false, atMs: 3 },
    { kind: 'maxOnEnded', atMs: 4 },
  ];
  const slots = events.reduce<Slots>(reduce, commanded());
  await keep(slots);
  const found = (await open(new FakeClock({ bootId: 'a', monotonicMs: 9 }))).get('pump')?.slots;
  expect(found).toEqual({ ...slots, base: undefined, start: undefined, pulse: undefined });
});

describe('after a reboot an operator', () => {
  const left = async (slots: Slots, wallMs: number): Promise<unknown> => {
    await keep(slots);
    const { operator } =
      (await open(new FakeClock({ bootId: 'b', monotonicMs: 5_000, wallMs }))).get('pump')?.slots ?? {};
    return operator;
  };

  it('keeps what is left of a time', async () => {
    expect(await left(commanded({ untilMs: 2 * HOUR_MS }), WALL_MS + HOUR_MS)).toMatchObject({
      value: true,
      untilMs: HOUR_MS + 5_000,
    });
  });

  it.each([
    ['a time that is over', { untilMs: HOUR_MS }, WALL_MS + HOUR_MS],
    ['a time under a clock that has gone back', { untilMs: HOUR_MS }, WALL_MS - 1],
    ['no time', {}, WALL_MS + 1],
  ])('has no say after %s', async (_name, more, wallMs) => {
    expect(await left(commanded(more), wallMs)).toBeUndefined();
  });
});
