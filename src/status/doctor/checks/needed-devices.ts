/** Devices of the machine that a configuration needs. */

import type { ActuatorConfig, AgentConfig, SensorConfig } from '../../../config/schema/agent-config.ts';
import { placesOf } from '../../../kinds/actuator-kinds.ts';
import { definitionOf } from '../../../kinds/sensor-kinds.ts';
import type { NeededDevice } from '../../../sensors/kind/definition.ts';

const ENABLE_I2C =
  'enable the bus (on a Raspberry Pi: dtparam=i2c_arm=on in config.txt, then reboot) and load the module: modprobe i2c-dev';
const PLUG_IN = 'plug it in, or choose another port: turnstone scan serial';
const ENABLE_GPIO = 'this kernel shows no GPIO chip: check the board’s device tree, or set hardware.gpio: sysfs';
const ENABLE_PWM = 'enable the PWM chip (on a Raspberry Pi: dtoverlay=pwm in config.txt, then reboot)';

/** Devices of a real machine; a simulated board has none. */
export function neededDevices(config: AgentConfig): readonly NeededDevice[] {
  const { hardware } = config;
  const { board, boardSocket: path } = hardware;
  if (board === 'simulated') return path === undefined ? [] : [{ path, enable: 'start the simulated board: turnstone board --socket' }];
  const users: {
    readonly user: SensorConfig | ActuatorConfig;
    readonly device?: NeededDevice | undefined;
    readonly chip?: number | undefined;
  }[] = [
    ...config.sensors.map((sensor) => ({ user: sensor, device: definitionOf(sensor.kind).device })),
    ...config.actuators.map((user) => ({ user, chip: placesOf(user).chip })),
  ];
  const needed = new Map<string, string>();
  for (const { user, device, chip } of users) {
    if (!user.enabled) continue;
    if (device !== undefined) needed.set(device.path, device.enable);
    if ('bus' in user) needed.set(`/dev/i2c-${user.bus}`, ENABLE_I2C);
    if ('line' in user && hardware.gpio !== 'sysfs')
      needed.set(
        typeof user.line !== 'string' && /^gpiochip\d+$/.test(user.line.chip) ? `/dev/${user.line.chip}` : '/dev/gpiochip0',
        ENABLE_GPIO,
      );
    if ('port' in user) needed.set(user.port, PLUG_IN);
    if ('connection' in user && user.connection.transport === 'rtu') needed.set(user.connection.port, PLUG_IN);
    if (chip !== undefined) needed.set(`/sys/class/pwm/pwmchip${chip}`, ENABLE_PWM);
  }
  return [...needed].map(([path, enable]) => ({ path, enable }));
}
