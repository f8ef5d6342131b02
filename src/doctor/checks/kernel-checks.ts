/** Checks that the kernel has the drivers of the chips that it is to read, and says what loads one that is missing. */
import type { AgentConfig, SensorConfig } from '../../config/schema/agent-config.ts';
import { hasCode, messageOf } from '../../errors/agent-error.ts';
import { addressInWords } from '../../hardware/i2c-port.ts';
import type { Ports } from '../../hardware/ports.ts';
import { configCheck, type Finding, fault, good } from './checkup.ts';

type KernelSensor = Extract<SensorConfig, { readonly kind: 'iio' | 'hwmon' }>;

export const kernelDrivers = configCheck(
  'kernel-drivers',
  'the kernel reads the chips that are its own',
  async (config, context, signal) => {
    const sensors = config.sensors.filter(isOfKernel).filter(({ enabled }) => enabled);
    if (config.hardware.board === 'simulated' || sensors.length === 0) return undefined;
    const { findDevice } = await import('../../sensors/families/kernel-devices/find-device.ts');
    const ports = context.openPorts(config);
    try {
      for (const sensor of sensors) {
        const { name, kind } = sensor;
        const what = kind === 'iio' ? 'IIO device' : 'hardware monitor';
        try {
          await findDevice(ports[kind], sensor, what, signal);
        } catch (error) {
          const place = `${name} (${kind}): ${messageOf(error)}`;
          return hasCode(error, 'sensors/no-device')
            ? await missing(sensor, place, { config, ports }, signal)
            : fault(place, `give the place of the chip: at:, as turnstone scan ${kind} shows it`);
        }
      }
      return good(sensors.map(({ name, chip }) => `${name}: ${chip}`).join(', '));
    } finally {
      await ports.close();
    }
  },
);

async function missing(
  { kind, chip }: KernelSensor,
  place: string,
  around: { readonly config: AgentConfig; readonly ports: Ports },
  signal: AbortSignal,
): Promise<Finding> {
  const { loadingOf } = await import('../../kinds/other-kinds.ts');
  const loading = loadingOf(chip, kind);
  if (loading === undefined) return fault(place, `load its driver, and look again: turnstone scan ${kind}`);
  const answer = await answering(loading.addresses, around, signal);
  return fault(answer === undefined ? place : `${place}; ${answer}, and no driver has it`, loading.text);
}

/** Somebody at one of these addresses, whom neither a driver nor a section of this configuration has. */
async function answering(
  addresses: readonly number[],
  { config, ports }: { readonly config: AgentConfig; readonly ports: Ports },
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const number of await ports.i2c.list(signal).catch(() => [])) {
    const bus = await ports.i2c.openBus(number, signal).catch(() => undefined);
    if (bus === undefined) continue;
    try {
      for (const address of addresses) {
        const isUsed = config.sensors.some((one) => 'bus' in one && one.bus === number && one.address === address);
        // A chip that a driver has is busy, and does not answer here.
        if (!isUsed && (await bus.probe(address, signal).catch(() => false)))
          return `somebody answers at ${addressInWords(address)} on bus ${number}`;
      }
    } finally {
      await bus.close();
    }
  }
  return undefined;
}

function isOfKernel(sensor: SensorConfig): sensor is KernelSensor {
  return sensor.kind === 'iio' || sensor.kind === 'hwmon';
}
