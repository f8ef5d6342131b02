/** Checks that every bus, port, sensor and actuator is there, and that the service may use it. */

import type { ActuatorConfig, AgentConfig, SensorConfig } from '../../config/schema/agent-config.ts';
import { messageOf } from '../../errors/agent-error.ts';
import { addressInWords } from '../../hardware/i2c-port.ts';
import type { FileHolder } from '../../host/machine-facts.ts';
import { placesOf } from '../../kinds/actuator-kinds.ts';
import { answersAt } from '../../kinds/identify-chip.ts';
import { definitionOf } from '../../kinds/sensor-kinds.ts';
import type { NeededDevice } from '../../sensors/kind/definition.ts';
import type { AgentStatus } from '../../status/shape/agent-status.ts';
import { sinceWords } from '../../status/since-words.ts';
import { agentCheck, type CheckContext, configCheck, type Finding, fault, good, may, unknown } from './checkup.ts';

const ENABLE_I2C =
  'enable the bus (on a Raspberry Pi: dtparam=i2c_arm=on in config.txt, then reboot) and load the module: modprobe i2c-dev';
const PLUG_IN = 'plug it in, or choose another port: turnstone scan serial';
const ENABLE_GPIO = 'this kernel shows no GPIO chip: check the board’s device tree, or set hardware.gpio: sysfs';
/** How programs that are known to read serial ports by themselves are kept away, by the name of their process. */
const STOP_READING: ReadonlyMap<string, string> = new Map([
  ['gpsd', 'systemctl disable --now gpsd.service gpsd.socket'],
  ['ModemManager', 'systemctl disable --now ModemManager, or a udev rule for this port: ENV{ID_MM_DEVICE_IGNORE}="1"'],
  ['agetty', 'systemctl disable --now serial-getty@PORT, and take console=PORT out of the kernel’s command line'],
]);
const ENABLE_PWM = 'enable the PWM chip (on a Raspberry Pi: dtoverlay=pwm in config.txt, then reboot)';

/** Devices of a real machine; a simulated board has none. */
function neededDevices(config: AgentConfig): readonly NeededDevice[] {
  const { hardware } = config;
  const { board, boardSocket: path } = hardware;
  if (board === 'simulated')
    return path === undefined ? [] : [{ path, enable: 'start the simulated board: turnstone board --socket' }];
  const users: {
    readonly user: SensorConfig | ActuatorConfig;
    readonly device?: NeededDevice | undefined;
    readonly chip?: number | string | undefined;
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
        typeof user.line !== 'string' && /^gpiochip\d+$/.test(user.line.chip)
          ? `/dev/${user.line.chip}`
          : '/dev/gpiochip0',
        ENABLE_GPIO,
      );
    const port = portOf(user);
    if (port.startsWith('/')) needed.set(port, PLUG_IN);
    if (typeof chip === 'number') needed.set(`/sys/class/pwm/pwmchip${chip}`, ENABLE_PWM);
  }
  return [...needed].map(([path, enable]) => ({ path, enable }));
}

export const devices = configCheck('devices', 'every bus and port is there', async (config, { machine }) => {
  const needed = neededDevices(config);
  if (needed.length === 0) return undefined;
  for (const { path, enable } of needed)
    if ((await machine.file(path)) === undefined) return fault(`${path} is not there`, enable);
  return good(needed.map(({ path }) => path).join(', '));
});

export const permissions = configCheck(
  'permissions',
  'the service may use every bus and port',
  async (config, context) => {
    const { machine, serviceUser } = context;
    const needed = neededDevices(config).filter(({ path }) => path.startsWith('/dev/'));
    if (needed.length === 0) return undefined;
    for (const { path } of needed) {
      const file = await machine.file(path);
      if (file === undefined || may(serviceUser, 'read and write', file)) continue;
      const remedy = `usermod -aG ${file.group} ${serviceUser?.name}, then systemctl restart turnstone; the installer's udev rules do the same`;
      return fault(
        `user ${serviceUser?.name} may not use ${path} (group ${file.group}, mode ${file.mode.toString(8)})`,
        remedy,
      );
    }
    return good(serviceUser === undefined ? 'for this user' : `for user ${serviceUser.name}`);
  },
);

/**
 * Other programs that read a serial port: each gets a part of the bytes. Most of them (gpsd, ModemManager, a getty) take no lock, so that opening
 * the port does not fail.
 */
export const sharedPorts = configCheck(
  'shared-ports',
  'no other program reads the serial ports',
  async (config, { machine }) => {
    const ports = serialPortsOf(config).filter((port) => port.startsWith('/dev/'));
    if (config.hardware.board === 'simulated' || ports.length === 0) return undefined;
    const others = (await machine.holders(ports)).filter((holder) => !isOurs(holder));
    const [first] = others;
    if (first !== undefined) {
      const all = others.map(({ path, name, pid }) => `${name} (process ${pid}) has ${path} open`).join('; ');
      return fault(
        `${all}: each reader gets a part of what arrives`,
        STOP_READING.get(first.name) ?? `stop ${first.name}, or keep it away from ${first.path}`,
      );
    }
    return process.getuid?.() === 0
      ? good(ports.join(', '))
      : unknown('only root sees who else reads them: sudo turnstone doctor');
  },
);

export const actuators = agentCheck(
  'actuators',
  'every actuator is known to be where it should',
  ({ actuators: all }) => {
    const lost = all.find((actuator) => actuator.fault !== undefined);
    if (lost === undefined) return all.length === 0 ? undefined : good(`${all.length} answer`);
    const remedy = 'check its wiring and its section in the configuration; turnstone actuate tries it';
    return fault(`${lost.name} (${lost.kind}): ${lost.fault}`, remedy);
  },
);

export const sensors = configCheck('sensors', 'every sensor answers', (config, context, signal) =>
  context.agent === undefined ? probeSensors(config, context, signal) : runningSensors(config, context.agent),
);

/** The serial port of a sensor or actuator; empty when it has none. */
function portOf(user: SensorConfig | ActuatorConfig): string {
  if ('port' in user) return user.port;
  return 'connection' in user && !('host' in user.connection) ? user.connection.port : '';
}

function serialPortsOf({ sensors, actuators }: AgentConfig): readonly string[] {
  const ports = [...sensors, ...actuators].filter(({ enabled }) => enabled).map(portOf);
  return [...new Set(ports.filter((port) => port !== ''))];
}

/** True for a process of the agent's own unit (a driver of its own too), and for an agent that a person started at a terminal. */
function isOurs({ pid, command, group }: FileHolder): boolean {
  return pid === process.pid || /\/turnstone\.service(\/|$)/m.test(group) || /turnstone|\bmain\.[jt]s\b/.test(command);
}

/** A running agent holds the buses and knows. */
function runningSensors({ sensors }: AgentConfig, agent: AgentStatus): Finding | undefined {
  if (agent.sensors.length === 0) return undefined;
  const [first, ...others] = agent.sensors.filter(({ state }) => state === 'failing');
  if (first === undefined) return good(`${agent.sensors.length} answer`);
  const more = others.length === 0 ? '' : `; also ${others.map(({ name }) => name).join(', ')}`;
  const remedy = remedyFor(sensors.find(({ name }) => name === first.name));
  const since = sinceWords(agent)(first.failingSinceMs);
  const silent = since === '' ? '' : `, fails${since}`;
  return fault(`${first.name} (${first.kind}${silent}): ${first.fault ?? 'does not answer'}${more}`, remedy);
}

/** Without an agent the buses are free: chips are asked whether they are there. */
async function probeSensors(
  config: AgentConfig,
  context: CheckContext,
  signal: AbortSignal,
): Promise<Finding | undefined> {
  if (context.silentAgent !== undefined) return unknown('the agent hangs, and holds the buses');
  const onBus = config.sensors.filter((sensor) => 'bus' in sensor).filter(({ enabled }) => enabled);
  if (onBus.length === 0) return unknown('no agent runs; start it, or try one: turnstone sensors read NAME');
  const ports = context.openPorts(config);
  try {
    for (const sensor of onBus) {
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
  const own = definitionOf(sensor.kind).remedy?.(sensor);
  if (own !== undefined) return own;
  if ('bus' in sensor) return 'check power, SDA, SCL and the address pins; turnstone scan i2c shows who answers';
  if ('line' in sensor) return 'check the line’s name and who else holds it; turnstone scan gpio shows both';
  if ('port' in sensor) return 'check the cable, the baud rate and the format; turnstone scan serial shows the ports';
  return `turnstone sensors read ${sensor.name} shows it at work`;
}
