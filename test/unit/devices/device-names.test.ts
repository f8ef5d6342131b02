import { beforeEach, describe, expect, it } from 'vitest';
import type { DeviceConfig } from '../../../src/config/schema/devices.ts';
import { DeviceNames } from '../../../src/devices/device-names.ts';
import { DEVICE_NAMES_FORMAT } from '../../../src/devices/kept-names.ts';
import { silentLog } from '../../../src/host/log.ts';
import { StateFile } from '../../../src/store/state-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

const SERIAL = { sensor: 'meter', key: 'serial' };
const DAY_MS = 86_400_000;

let clock: FakeClock;
let files: MemoryFiles;
let gateway: string;

beforeEach(() => {
  clock = new FakeClock();
  files = new MemoryFiles();
  gateway = 'roof';
});

async function names(slots: readonly DeviceConfig[]): Promise<DeviceNames> {
  const file = new StateFile({ ...DEVICE_NAMES_FORMAT, path: '/state/names.json', files, clock, log: silentLog });
  const opened = await DeviceNames.open({
    file,
    clock,
    log: silentLog,
    gatewayName: () => gateway,
    matches: (pattern, text) => new RegExp(`^(?:${pattern})$`).test(text),
  });
  opened.configure(slots);
  return opened;
}

const slot = (name: string, more: Partial<DeviceConfig> = {}): DeviceConfig =>
  ({ name, deviceName: '{gateway} {name}', ...more }) as DeviceConfig;
const meter = (name: string, more: Partial<DeviceConfig> = {}): DeviceConfig =>
  slot(name, { deviceName: '{gateway} {serialNumber}', serialNumber: { sensor: name, key: 'serial' }, ...more });

function read(known: DeviceNames, sensor: string, number: string | number, times = 2): void {
  for (let time = 0; time < times; time += 1) known.observe(sensor, 'serial', number);
}

describe('a slot without a serial number', () => {
  it('is one device for ever, whatever the gateway is called', async () => {
    const known = await names([slot('pump')]);
    expect(known.idOf('pump')).toBe('pump');
    expect(known.nameOf('pump')).toBe('roof pump');
    gateway = 'cellar';
    expect(known.idOf('pump')).toBe('pump');
  });

  it('fills the first choice that there is', async () => {
    const known = await names([slot('pump', { deviceName: '{serialNumber|label} at {gateway}', label: 'Well' })]);
    expect(known.nameOf('pump')).toBe('Well at roof');
  });
});

describe('a slot with a serial number', () => {
  it('is unknown until its number is read twice alike', async () => {
    const known = await names([meter('meter')]);
    expect(known.idOf('meter')).toBe('?meter');
    expect(known.resolve('?meter')).toBeUndefined();
    known.observe('meter', 'serial', 4711);
    known.observe('meter', 'serial', 4712);
    expect(known.idOf('meter')).toBe('?meter');
    expect(known.observe('meter', 'serial', 4712)).toEqual(['meter']);
    expect(known.idOf('meter')).toBe('roof 4712');
    expect(known.resolve('?meter')).toBe('roof 4712');
    expect(known.serialNumberOf('roof 4712')).toBe('4712');
  });

  it.each([['000000'], [''], ['12a'], ['  '], ['1'.repeat(65)]])('takes %j for no number', async (text) => {
    const known = await names([meter('meter', { serialNumber: { ...SERIAL, pattern: '[0-9]+' } })]);
    read(known, 'meter', text, 5);
    expect(known.idOf('meter')).toBe('?meter');
  });

  it('takes numbers of other sensors and keys for none of its own', async () => {
    const known = await names([meter('meter')]);
    read(known, 'other', '4711');
    for (let time = 0; time < 3; time += 1) known.observe('meter', 'power', '4711');
    expect(known.idOf('meter')).toBe('?meter');
  });

  it('is known again at the next start, before anything is read', async () => {
    const known = await names([meter('meter')]);
    read(known, 'meter', '4711');
    await known.close();
    expect((await names([meter('meter')])).idOf('meter')).toBe('roof 4711');
  });

  it('keeps the device of a moved meter, and of one whose gateway has another name', async () => {
    const known = await names([meter('one'), meter('two')]);
    read(known, 'one', '4711');
    gateway = 'cellar';
    read(known, 'two', '4711');
    expect(known.idOf('two')).toBe('roof 4711');
    expect(known.slotsOf('roof 4711')).toEqual(['one', 'two']);
  });

  it('tells meters of one number apart by their slots, where the name tells the slot', async () => {
    const own = { deviceName: '{name} {serialNumber}' };
    const known = await names([meter('one', own), meter('two', own)]);
    read(known, 'one', '1');
    read(known, 'two', '1');
    expect([known.idOf('one'), known.idOf('two')]).toEqual(['one 1', 'two 1']);
  });

  it('is never the device of a slot of that name', async () => {
    const known = await names([slot('pump'), meter('meter', { deviceName: '{serialNumber}' })]);
    read(known, 'meter', 'pump');
    expect(known.idOf('meter')).not.toBe('pump');
    expect(known.idOf('pump')).toBe('pump');
  });

  it('takes five new devices in a day, and known ones always', async () => {
    const known = await names([meter('meter')]);
    for (const number of ['1', '2', '3', '4', '5', '6']) read(known, 'meter', number);
    expect(known.idOf('meter')).toBe('roof 6');
    read(known, 'meter', '7', 9);
    expect([known.present, known.idOf('meter'), known.resolve('?meter=7')]).toEqual([
      ['roof 6'],
      '?meter=7',
      undefined,
    ]);
    expect(known.waitsForTomorrow('meter')).toBe(true);
    read(known, 'meter', '1');
    expect([known.idOf('meter'), known.resolve('?meter=7')]).toEqual(['roof 1', undefined]);
    await clock.advance(DAY_MS);
    read(known, 'meter', '7');
    expect([known.idOf('meter'), known.resolve('?meter=7')]).toEqual(['roof 7', 'roof 7']);
    expect(known.waitsForTomorrow('meter')).toBe(false);
  });

  it('takes as many new devices in a day as there are slots, where these are more', async () => {
    const slots = Array.from({ length: 7 }, (_, at) => `meter${at}`);
    const known = await names(slots.map((name) => meter(name)));
    for (const name of slots) read(known, name, `old ${name}`);
    for (const name of slots) read(known, name, `new ${name}`);
    expect(slots.map((name) => known.idOf(name))).toEqual(slots.map((name) => `roof new ${name}`));
    read(known, 'meter0', 'another');
    expect(slots.filter((name) => known.waitsForTomorrow(name))).toEqual(['meter0']);
  });
});

describe('an answer with another number', () => {
  it.each([
    ['4711', '4712'],
    [4711, 'AB=9'],
  ])('after %j belongs to the device of that number, %j', async (first, second) => {
    const known = await names([meter('meter')]);
    read(known, 'meter', first);
    read(known, 'meter', second, 1);
    const kept = known.idOf('meter');
    expect([kept, known.resolve(kept)]).toEqual([`?meter=${second}`, undefined]);
    read(known, 'meter', second, 1);
    expect([known.idOf('meter'), known.resolve(kept)]).toEqual([`roof ${second}`, `roof ${second}`]);
    read(known, 'meter', first, 1);
    expect(known.idOf('meter')).toBe(`roof ${first}`);
  });

  it('that is read once only belongs to the device that was there', async () => {
    const known = await names([meter('meter')]);
    read(known, 'meter', '4711');
    read(known, 'meter', '4771', 1);
    read(known, 'meter', '4711', 1);
    expect([known.idOf('meter'), known.resolve('?meter=4771')]).toEqual(['roof 4711', 'roof 4711']);
  });

  it('waits over a restart until the number is read again', async () => {
    const known = await names([meter('meter')]);
    read(known, 'meter', '4711');
    read(known, 'meter', '4712', 1);
    await known.close();
    const again = await names([meter('meter')]);
    expect(again.resolve('?meter=4712')).toBeUndefined();
    read(again, 'meter', '4712');
    expect(again.resolve('?meter=4712')).toBe('roof 4712');
  });
});

describe('a name', () => {
  it('given here stays, without what a template would fill', async () => {
    const known = await names([slot('pump')]);
    known.rename('pump', 'The {pump}');
    await known.close();
    expect((await names([slot('pump')])).nameOf('pump')).toBe('The pump');
  });
});

describe('a device that goes to another gateway', () => {
  it('is in no slot, after a restart either, and comes back as it was', async () => {
    const known = await names([slot('pump'), slot('fan')]);
    await known.moved.leave('pump');
    expect([known.idOf('pump'), known.idOf('fan')]).toEqual(['?pump', 'fan']);
    const again = await names([slot('pump')]);
    expect([again.idOf('pump'), again.resolve('?pump'), again.moved.isLeft('pump')]).toEqual([
      '?pump',
      undefined,
      true,
    ]);
    expect(again.moved.away).toEqual(['pump']);
    await again.moved.take('pump', { name: 'roof pump' });
    expect([again.idOf('pump'), again.resolve('?pump'), again.moved.isLeft('pump'), again.moved.away]).toEqual([
      'pump',
      'pump',
      false,
      [],
    ]);
    expect((await names([slot('pump')])).nameOf('pump')).toBe('roof pump');
  });

  it('is not taken for the one in its slot while its number is read there, and another one is', async () => {
    const known = await names([meter('meter')]);
    read(known, 'meter', 111);
    await known.moved.leave('roof 111');
    read(known, 'meter', 111);
    expect([known.idOf('meter'), known.moved.isLeft('meter')]).toEqual(['?meter=111', true]);
    read(known, 'meter', 222);
    expect([known.idOf('meter'), known.moved.isLeft('meter')]).toEqual(['roof 222', false]);
    read(known, 'meter', 111);
    expect(known.idOf('meter')).toBe('?meter=111');
    expect((await names([meter('meter')])).idOf('meter')).toBe('?meter');
  });

  it.each([
    ['its number', [111], '?meter=111'],
    ['no number since a start', [], '?meter'],
    ['its number, once the device was forgotten', [111], '?meter=111'],
  ])('gets nothing of what its slot reads with %s', async (what, numbers, id) => {
    const before = await names([meter('meter')]);
    read(before, 'meter', 111);
    await before.moved.leave('roof 111');
    if (what.includes('forgotten')) before.forget('roof 111');
    await before.close();
    const known = await names([meter('meter')]);
    for (const number of numbers) read(known, 'meter', number);
    expect([known.idOf('meter'), known.resolve(id)]).toEqual([id, undefined]);
  });

  it('leaves what its number told apart from the next device of the slot, and has it when it comes back', async () => {
    const known = await names([meter('meter')]);
    read(known, 'meter', 111);
    await known.moved.leave('roof 111');
    read(known, 'meter', 222);
    expect([known.resolve('?meter'), known.resolve('?meter=111')]).toEqual(['roof 222', undefined]);
    await known.moved.take('meter', { name: 'roof 111', serialNumber: '111' });
    expect([known.resolve('?meter'), known.resolve('?meter=111')]).toEqual(['roof 222', 'roof 111']);
  });

  it('stays away when it is forgotten', async () => {
    const known = await names([slot('pump')]);
    await known.moved.leave('pump');
    known.forget('pump');
    expect([known.moved.away, known.idOf('pump')]).toEqual([[], '?pump']);
  });

  it('is told when the disk does not take it', async () => {
    const known = await names([slot('pump')]);
    files.addFaults({ fail: (operation) => (operation === 'write' ? { code: 'ENOSPC' } : undefined) });
    await expect(known.moved.leave('pump')).rejects.toMatchObject({ code: 'host/write-failed' });
    expect(known.idOf('pump')).toBe('?pump');
  });
});

describe('a device that comes from another gateway', () => {
  it('is known by its number, whatever the template makes of it', async () => {
    const known = await names([meter('meter', { deviceName: '{gateway} {name} {serialNumber}' })]);
    await known.moved.take('meter', { name: 'cellar 111', serialNumber: '111' });
    expect(known.idOf('meter')).toBe('?meter');
    read(known, 'meter', 111);
    expect(known.idOf('meter')).toBe('cellar 111');
  });

  it('learns its number where nobody read one before', async () => {
    const known = await names([meter('meter')]);
    await known.moved.take('meter', { name: 'cellar old' });
    read(known, 'meter', 111);
    expect([known.idOf('meter'), known.serialNumberOf('cellar old')]).toEqual(['cellar old', '111']);
    read(known, 'meter', 222);
    expect(known.idOf('meter')).toBe('roof 222');
  });

  it('has the name of a slot that is none of its own for no id', async () => {
    const known = await names([slot('pump'), meter('meter')]);
    expect(known.moved.idOfComing('meter', { name: 'pump', serialNumber: '9' })).toBe('pump (meter)');
    expect(known.moved.idOfComing('pump', { name: 'x', serialNumber: '9' })).toBe('pump');
    expect(known.moved.idOfComing('later', { name: 'x' })).toBe('later');
    expect(known.moved.idOfComing('later', { name: 'x', serialNumber: '9' })).toBe('x');
  });
});

describe('two slots that read one number', () => {
  it('hold what the second reads, while the first reads it still', async () => {
    const known = await names([meter('a'), meter('b')]);
    read(known, 'a', 4711);
    read(known, 'b', 4711);
    // So far the meter may have been moved from one to the other.
    expect([known.idOf('a'), known.idOf('b'), known.doubled.size]).toEqual(['roof 4711', 'roof 4711', 0]);
    read(known, 'a', 4711, 1);
    expect(known.idOf('a')).toBe('roof 4711');
    expect(known.idOf('b')).toBe('?b=4711');
    expect(known.resolve('?b=4711')).toBeUndefined();
    expect([...known.doubled]).toEqual([['b', 'a']]);
    expect(known.slotsOf('roof 4711')).toEqual(['a']);
    // The address of the second one was mended.
    read(known, 'b', 4712);
    expect([known.idOf('b'), known.doubled.size]).toEqual(['roof 4712', 0]);
  });

  it('are told apart also where one sensor is named by both, and after a restart', async () => {
    const both = [meter('a'), meter('b', { serialNumber: { ...SERIAL, sensor: 'a' } })];
    const known = await names(both);
    read(known, 'a', 'X-1', 3);
    expect([...known.doubled]).toEqual([['b', 'a']]);
    await known.close();
    const again = await names(both);
    read(again, 'a', 'X-1', 2);
    expect([...again.doubled]).toEqual([['b', 'a']]);
  });

  it('are no fault of a meter that was moved from one to the other', async () => {
    const known = await names([meter('a'), meter('b')]);
    read(known, 'a', 4711);
    read(known, 'b', 4711, 5);
    expect([known.idOf('b'), known.doubled.size]).toEqual(['roof 4711', 0]);
    read(known, 'a', 4713);
    expect([known.idOf('a'), known.doubled.size]).toEqual(['roof 4713', 0]);
  });
});
