import { expect, it } from 'vitest';
import { configSchema } from '../schema/agent-config.ts';
import { devicePolls } from './device-polls.ts';

const RELAY = { name: 'relay', kind: 'gpio-output', line: 'GPIO5', device: 'm' };

it.each([
  ['auto without an actuator', {}, [], {}, { rpc: false, attributes: false }],
  ['auto with an actuator', {}, [RELAY], {}, { rpc: true, attributes: true }],
  ['auto with an actuator of another device', {}, [{ ...RELAY, device: 'n' }], {}, { rpc: false, attributes: false }],
  [
    'auto with an actuator of the gateway',
    {},
    [{ ...RELAY, device: undefined }],
    {},
    { rpc: false, attributes: false },
  ],
  ['auto with an actuator that is off', {}, [{ ...RELAY, enabled: false }], {}, { rpc: false, attributes: false }],
  ['auto where there is no RPC', {}, [RELAY], { enabled: false }, { rpc: false, attributes: true }],
  ['rpc', { poll: 'rpc' }, [], {}, { rpc: true, attributes: false }],
  ['rpc where there is none', { poll: 'rpc' }, [], { enabled: false }, { rpc: false, attributes: false }],
  ['attributes', { poll: 'attributes' }, [RELAY], {}, { rpc: false, attributes: true }],
  ['none', { poll: 'none' }, [RELAY], {}, { rpc: false, attributes: false }],
  ['auto with a handler', { firmware: { handlers: ['pump'] } }, [], {}, { rpc: false, attributes: true }],
  ['rpc with a handler', { poll: 'rpc', firmware: { handlers: ['pump'] } }, [], {}, { rpc: true, attributes: false }],
  [
    'auto with a handler where nothing is updated',
    { firmware: { handlers: ['pump'] } },
    [],
    { updates: false },
    { rpc: false, attributes: false },
  ],
] as const)(
  'polls by %s',
  (_what, device, actuators, {
    updates: enabled,
    ...rpc
  }: { readonly enabled?: boolean; readonly updates?: boolean }, expected) => {
    const devices = [{ name: 'm', ...device }, { name: 'n' }];
    const config = configSchema.parse({
      version: 1,
      platform: { url: 'http://platform' },
      devices,
      actuators,
      rpc,
      firmware: { enabled },
    });
    expect(config.devices.slice(0, 1).map((one) => devicePolls(one, config))).toEqual([expected]);
  },
);
