import { expect, it } from 'vitest';
import { configSchema } from '../schema/agent-config.ts';
import { devicePolls } from './device-polls.ts';

const RELAY = { name: 'relay', kind: 'gpio-output', line: 'GPIO5', device: 'm' };

it.each([
  ['no actuator', {}, [], {}, { rpc: false, attributes: false }],
  ['an actuator', {}, [RELAY], {}, { rpc: true, attributes: true }],
  ['an actuator of another device', {}, [{ ...RELAY, device: 'n' }], {}, { rpc: false, attributes: false }],
  ['an actuator of the gateway', {}, [{ ...RELAY, device: undefined }], {}, { rpc: false, attributes: false }],
  ['an actuator that is off', {}, [{ ...RELAY, enabled: false }], {}, { rpc: false, attributes: false }],
  ['an actuator where there is no RPC', {}, [RELAY], { enabled: false }, { rpc: false, attributes: true }],
  [
    'a method that reads its sensor',
    {},
    [],
    { methods: { readIt: { sensor: 's' } } },
    { rpc: true, attributes: false },
  ],
  [
    'a method that reads a sensor of another device',
    {},
    [],
    { methods: { readIt: { sensor: 't' } } },
    { rpc: false, attributes: false },
  ],
  [
    'a method that reads its sensor, where there is no RPC',
    {},
    [],
    { enabled: false, methods: { readIt: { sensor: 's' } } },
    { rpc: false, attributes: false },
  ],
  [
    'what is allowed of all devices',
    {},
    [],
    { methods: { readSensor: { enabled: true } } },
    { rpc: false, attributes: false },
  ],
  ['a handler', { firmware: { handlers: ['pump'] } }, [], {}, { rpc: false, attributes: true }],
  [
    'a handler where nothing is updated',
    { firmware: { handlers: ['pump'] } },
    [],
    { updates: false },
    { rpc: false, attributes: false },
  ],
] as const)(
  'polls for %s',
  (_what, device, actuators, {
    updates: enabled,
    ...rpc
  }: { readonly enabled?: boolean; readonly methods?: object; readonly updates?: boolean }, expected) => {
    const devices = [{ name: 'm', ...device }, { name: 'n' }];
    const sensors = [
      { name: 's', kind: 'host', device: 'm' },
      { name: 't', kind: 'host', device: 'n' },
    ];
    const config = configSchema.parse({
      version: 1,
      platform: { url: 'http://platform' },
      devices,
      sensors,
      actuators,
      rpc,
      firmware: { enabled },
    });
    expect(config.devices.slice(0, 1).map((one) => devicePolls(one, config))).toEqual([expected]);
  },
);
