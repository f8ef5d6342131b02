/** Status of an attached device that is well, for tests that change a part of it. */
import type { DeviceStatus } from '../../src/status/shape/device-status.ts';

export function attachedDevice(change: Partial<DeviceStatus> = {}): DeviceStatus {
  const { name = 'gateway-7 meter1' } = change;
  return {
    id: name,
    name,
    slots: ['meter1'],
    state: 'ready',
    sinceMs: 7_200_000,
    heldEntries: 0,
    acceptedEntries: 12,
    lastAcceptedAtMs: 7_299_000,
    sensors: 1,
    ...change,
  };
}
