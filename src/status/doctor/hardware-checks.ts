/** Every bus that the configuration names: is its device there, may the service use it, does the sensor answer. */
import type { ActuatorConfig, AgentConfig, SensorConfig } from '../../config/agent-config.ts';
import { messageOf } from '../../errors.ts';
import { answersAt } from '../../hardware/i2c-answers.ts';
import { addressInWords } from '../../hardware/i2c-port.ts';
import { type Check, type Finding, fault, good, type Patient, unknown, withConfig } from './checkup.ts';
import { may } from './config-checks.ts';

interface NeededDevice {
  readonly path: string;
  /** What to do when it is not there. */
  readonly enable: string;
}

const READ_WRITE = 6;
const ENABLE_I2C =
  'enable the bus (on a Raspberry Pi: dtparam=i2c_arm=on in config.txt, then reboot) and load the module: modprobe i2c-dev';
const PLUG_IN = 'plug it in, or choose another port: turnstone scan serial';
const ENABLE_GPIO = 'this kernel shows no GPIO chip: check the board’s device tree, or set hardware.gpio: sysfs';
const ENABLE_ONE_WIRE = 'enable the one-wire bus (on a Raspberry Pi: dtoverlay=w1-gpio in config.txt, then reboot)';
const ENABLE_PWM = 'enable the PWM chip (on a Raspberry Pi: dtoverlay=pwm in config.txt, then reboot)';

export const HARDWARE_CHECKS: readonly Check[] = [
  {
    id: 'devices',
    title: 'every bus and port is there',
    look: withConfig(async (config, { machine }) => {
      const needed = neededDevices(config);
      if (needed.length === 0) return undefined;
      for (const { path, enable } of needed) if ((await machine.file(path)) === undefined) return fault(`${path} is not there`, enable);
      return good(needed.map(({ path }) => path).join(', '));
    }),
  },
  {
    id: 'permissions',
    title: 'the service may use every bus and port',
    look: withConfig(async (config, { machine, serviceUser }) => {
      const needed = neededDevices(config).filter(({ path }) => path.startsWith('/dev/'));
      if (needed.length === 0) return undefined;
      for (const { path } of needed) {
        const file = await machine.file(path);
        if (file === undefined || may(serviceUser, file, READ_WRITE)) continue;
        const remedy = `usermod -aG ${file.group} ${serviceUser?.name}, then systemctl restart turnstone; the installer's udev rules do the same`;
        return fault(`user ${serviceUser?.name} may not use ${path} (group ${file.group}, mode ${file.mode.toString(8)})`, remedy);
      }
      return good(serviceUser === undefined ? 'for this user' : `for user ${serviceUser.name}`);
    }),
  },
  {
    id: 'sensors',
    title: 'every sensor answers',
    look: withConfig((config, patient, signal) =>
      patient.agent === undefined ? probeSensors(config, patient, signal) : runningSensors(config, patient),
    ),
  },
  {
    id: 'actuators',
    title: 'every actuator is known to be where it should',
    look: ({ agent }) => {
      if (agent === undefined || agent.actuators.length === 0) return undefined;
      const lost = agent.actuators.find(({ fault: why }) => why !== undefined);
      if (lost === undefined) return good(`${agent.actuators.length} answer`);
      return fault(
        `${lost.name} (${lost.kind}): ${lost.fault}`,
        'check its wiring and its section in the configuration; turnstone actuate tries it',
      );
    },
  },
];

/** A running agent holds the buses and knows. */
function runningSensors({ sensors }: AgentConfig, { agent }: Patient): Finding | undefined {
  if (agent === undefined || agent.sensors.length === 0) return undefined;
  const failing = agent.sensors.filter(({ state }) => state === 'failing');
  const [first] = failing;
  if (first === undefined) return good(`${agent.sensors.length} answer`);
  const more =
    failing.length === 1
      ? ''
      : `; also ${failing
          .slice(1)
          .map(({ name }) => name)
          .join(', ')}`;
  return fault(
    `${first.name} (${first.kind}): ${first.fault ?? 'does not answer'}${more}`,
    remedyFor(sensors.find(({ name }) => name === first.name)),
  );
}

/** Without an agent the buses are free: chips are asked whether they are there. */
async function probeSensors(config: AgentConfig, { openPorts }: Patient, signal: AbortSignal): Promise<Finding | undefined> {
  const onBus = config.sensors.filter((sensor) => 'bus' in sensor && sensor.enabled);
  if (onBus.length === 0) return unknown('no agent runs; start it, or try one: turnstone sensors read NAME');
  const ports = openPorts(config);
  try {
    for (const sensor of onBus) {
      if (!('bus' in sensor)) continue;
      const place = `${sensor.name} (${sensor.kind}) at ${addressInWords(sensor.address)} on bus ${sensor.bus}`;
      try {
        const bus = await ports.i2c.openBus(sensor.bus, signal);
        const answers = await answersAt(bus, sensor.address, signal).finally(() => bus.close());
        if (!answers) return fault(`${place}: nobody answers`, remedyFor(sensor));
      } catch (error) {
        return fault(`${place}: ${messageOf(error)}`, remedyFor(sensor));
      }
    }
    return good(`${onBus.length} on I2C answer; the others are read by the agent`);
  } finally {
    await ports.close();
  }
}

function remedyFor(sensor: SensorConfig | undefined): string {
  if (sensor === undefined) return 'check its section in the configuration';
  if ('bus' in sensor) return 'check power, SDA, SCL and the address pins; turnstone scan i2c shows who answers';
  if ('line' in sensor) return 'check the line’s name and who else holds it; turnstone scan gpio shows both';
  if (sensor.kind === 'ds18b20') return 'check the data line’s pull-up resistor (4.7 kΩ); turnstone scan one-wire shows who answers';
  if (sensor.kind === 'modbus') return 'check wiring (A, B, ground), baud rate, parity and unit address';
  if ('port' in sensor) return 'check the cable, the baud rate and the format; turnstone scan serial shows the ports';
  if (sensor.kind === 'command') return `run ${sensor.program} by hand as the service’s user`;
  return `turnstone sensors read ${sensor.name} shows it at work`;
}

/** Devices of a real machine; a simulated board has none. */
function neededDevices(config: AgentConfig): readonly NeededDevice[] {
  const { hardware } = config;
  if (hardware.board === 'simulated') {
    return hardware.boardSocket === undefined
      ? []
      : [{ path: hardware.boardSocket, enable: 'start the simulated board: turnstone board --socket' }];
  }
  const users: (SensorConfig | ActuatorConfig)[] = [
    ...config.sensors.filter(({ enabled }) => enabled),
    ...config.actuators.filter(({ enabled }) => enabled),
  ];
  const needed = new Map<string, string>();
  for (const user of users) {
    if ('bus' in user) needed.set(`/dev/i2c-${user.bus}`, ENABLE_I2C);
    if ('line' in user && hardware.gpio !== 'sysfs')
      needed.set(
        typeof user.line !== 'string' && /^gpiochip\d+$/.test(user.line.chip) ? `/dev/${user.line.chip}` : '/dev/gpiochip0',
        ENABLE_GPIO,
      );
    if ('port' in user) needed.set(user.port, PLUG_IN);
    if ('connection' in user && user.connection.transport === 'rtu') needed.set(user.connection.port, PLUG_IN);
    if (user.kind === 'ds18b20') needed.set('/sys/bus/w1/devices', ENABLE_ONE_WIRE);
    if (user.kind === 'pwm') needed.set(`/sys/class/pwm/pwmchip${user.chip}`, ENABLE_PWM);
  }
  return [...needed].map(([path, enable]) => ({ path, enable }));
}
