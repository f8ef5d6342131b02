/** Names of devices as they were saved, by this release or another, and the credentials of a slot. */
import { expect, it } from 'vitest';
import { Secret } from '../../../src/config/fields/secret.ts';
import type { AgentConfig } from '../../../src/config/schema/agent-config.ts';
import { slotCredentials } from '../../../src/devices/device-settings.ts';
import { keptNames } from '../../../src/devices/kept-names.ts';

it('takes of a saved state what is of its kind, and leaves out the rest', () => {
  const kept = keptNames({
    slots: { kitchen: 'id-1', cellar: 5 },
    devices: {
      'id-1': { name: 'Kitchen', serialNumber: 7, isRenamed: true },
      'id-2': 'no device',
      'id-3': { name: 3 },
    },
    removed: { 'id-4': 1_000, 'id-5': 'yesterday' },
    replaced: { dayMs: 0, count: 'many' },
  });
  expect([...kept.slots]).toEqual([['kitchen', 'id-1']]);
  expect([...kept.devices]).toEqual([
    ['id-1', { name: 'Kitchen', serialNumber: undefined, isRenamed: true, isTaken: undefined }],
  ]);
  expect([[...kept.removed], [...kept.first], kept.replaced]).toEqual([[['id-4', 1_000]], [], undefined]);
});

it('goes by the token of a slot, before anything that provisions', () => {
  const slot = { name: 'kitchen', accessToken: new Secret('kitchen-token'), accessTokenFile: '/etc/token' };
  const config = { devices: [slot], provisioning: { deviceKey: new Secret('k'), deviceSecret: new Secret('s') } };
  expect(slotCredentials(config as never as AgentConfig, { slot, name: 'Kitchen' } as never)).toEqual({
    accessToken: 'kitchen-token',
  });
});
