/** Operations on attached devices, as somebody at the device asks for them. */
import { describe, expect, it } from 'vitest';
import { namedDevice } from '../../../src/devices/named-device.ts';
import type { DevicesControl } from '../../../src/operations/device-operations.ts';
import { openLocalDoor } from '../../../src/operations/local-door.ts';
import { operationsOf } from '../../../src/operations/operation-table.ts';
import { attachedDevice } from '../../support/attached-device-status.ts';
import { doorTo } from '../../support/socket-operations.ts';

const { signal } = new AbortController();
const METER_1 = attachedDevice({ name: 'gateway-7 12345678', slots: ['meter1'] });
const METER_2 = attachedDevice({ id: 'gateway-7 20000000', name: 'Cellar', slots: ['meter2'], heldEntries: 5 });
const OLD = attachedDevice({ name: 'gateway-7 11111111', slots: [], state: 'removed', heldEntries: 9 });
const DEVICES = [METER_1, METER_2, OLD];

describe('namedDevice', () => {
  it.each([
    ['gateway-7 12345678', METER_1],
    ['meter1', METER_1],
    ['Cellar', METER_2],
    ['cellar', METER_2],
    [' Cel ', METER_2],
    ['gateway-7 20000000', METER_2],
    ['gateway-7 11', OLD],
    ['GATEWAY-7 2', METER_2],
  ])('finds by %j', (text, device) => {
    expect(namedDevice(DEVICES, text)).toBe(device);
  });

  it('takes an exact name before beginnings, and an id before the name of another', () => {
    const longer = attachedDevice({ name: 'Cellar 2', slots: ['x'] });
    const impostor = attachedDevice({ id: 'other', name: 'gateway-7 20000000', slots: ['y'] });
    expect(namedDevice([longer, impostor, METER_2], 'Cellar')).toBe(METER_2);
    expect(namedDevice([longer, impostor, METER_2], 'gateway-7 20000000')).toBe(METER_2);
  });

  it('says what may be meant, or that nothing is', () => {
    const find = (text: string) => () => namedDevice(DEVICES, text);
    expect(find('meter')).toThrow(
      'meter may be 2 devices: gateway-7 12345678 (meter1), Cellar (meter2); write more of it',
    );
    expect(find('x'.repeat(500))).toThrow(/^no device is called x{60}…; turnstone devices lists them$/);
    expect(find(' ')).toThrow('the name of a device is needed');
    const many = Array.from({ length: 30 }, (_, at) => attachedDevice({ name: `m${at}`, slots: [] }));
    expect(() => namedDevice(many, 'm')).toThrow(/m0, m1, m2, m3, m4 and 25 more;/);
  });
});

describe('operations on attached devices', () => {
  function bench() {
    const asked: unknown[] = [];
    const control: DevicesControl = {
      list: () => DEVICES,
      named: (text) => namedDevice(DEVICES, text),
      claim: async (id, request) => {
        asked.push(['claim', id, request]);
        return { secretKey: 'ABCDE', untilMs: 1, untilIsEstimate: false, alreadyOpen: false };
      },
      rotate: async (id, token) => void asked.push(['rotate', id, token]),
      remove: async (id) => void asked.push(['remove', id]),
      rename: async (id, name) => void asked.push(['rename', id, name]),
      pack: async (id, passphrase) => {
        asked.push(['pack', id, passphrase]);
        return 'packed';
      },
      leave: async (id) => void asked.push(['leave', id]),
      take: async (arrival) => {
        asked.push(['take', arrival]);
        return { id: arrival.slot, name: 'roof meter1', isConfigured: arrival.slot === 'meter1' };
      },
    };
    const door = doorTo(operationsOf({ devices: control }));
    const call = (name: string, params: Record<string, string | number> = {}) =>
      openLocalDoor('site', door).ask(name, params, signal);
    return { asked, call, readMethods: openLocalDoor('viewer', door).operations };
  }

  it('lets everyone on the machine look, and change nothing', async () => {
    const { call, readMethods, asked } = bench();
    expect([...readMethods.keys()]).toEqual(['listDevices', 'showDevice']);
    expect(await call('listDevices')).toEqual(DEVICES);
    expect(await call('showDevice', { device: 'Cellar' })).toEqual(METER_2);
    expect(asked).toEqual([]);
  });

  it('asks for the device that was named, by its id', async () => {
    const { call, asked } = bench();
    expect(await call('claimDevice', { device: 'cellar', durationMs: 60_000 })).toMatchObject({
      deviceName: 'Cellar',
      secretKey: 'ABCDE',
    });
    expect(await call('rotateDeviceToken', { device: 'meter1', accessToken: 'next-token' })).toEqual({
      id: METER_1.id,
      name: METER_1.name,
    });
    expect(await call('removeDevice', { device: 'gateway-7 1111' })).toMatchObject({
      heldEntries: 9,
      isConfigured: false,
    });
    expect(await call('renameDevice', { device: 'meter1', name: ' Heat pump ' })).toEqual({
      id: METER_1.id,
      name: 'Heat pump',
    });
    expect(asked).toEqual([
      ['claim', METER_2.id, { durationMs: 60_000 }],
      ['rotate', METER_1.id, 'next-token'],
      ['remove', OLD.id],
      ['rename', METER_1.id, 'Heat pump'],
    ]);
  });

  it.each([
    ['rotateDeviceToken', { device: 'meter1' }, 'params.accessToken is missing'],
    ['renameDevice', { device: 'meter1', name: 'a\nb' }, '1 to 255 characters'],
    ['renameDevice', { device: 'meter1', name: 'x'.repeat(256) }, '1 to 255 characters'],
    ['renameDevice', { device: 'meter1', name: 'Cellar' }, 'another device is called so'],
    ['claimDevice', { device: 'meter1', secretKey: 'x'.repeat(256) }, 'longer than 255 characters'],
    ['removeDevice', { device: 'nobody' }, 'no device is called nobody'],
    ['removeDevice', {}, 'params.device is missing'],
    ['takeDevice', { slot: 'a b', text: 'x', passphrase: 'y' }, 'params.slot is "a b"'],
  ])('%s refuses %j', async (method, params, message) => {
    const { call, asked } = bench();
    await expect(call(method, params)).rejects.toThrow(message);
    expect(asked).toEqual([]);
  });
});
