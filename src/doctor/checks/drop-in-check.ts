/** Checks that the service's sandbox is open for the kinds that need more than all others, and names the drop-in that opens it. */
import { basename } from 'node:path';
import type { ActuatorConfig, AgentConfig, SensorConfig } from '../../config/schema/agent-config.ts';
import type { AgentStatus } from '../../status/shape/agent-status.ts';
import { configCheck, fault, good, UNIT } from './checkup.ts';

/**
 * Names for the installer's option --with, and the files. A program (kind: process) may need any of can, bluetooth, input and usb, which its
 * section does not tell.
 */
const FILES = { sysfs: 'sysfs-gpio-pwm.conf', iio: 'turnstone-iio.conf' } as const;
type DropIn = keyof typeof FILES;

export const dropIns = configCheck(
  'drop-ins',
  'the sandbox is open for what the kinds need',
  async (config, { machine, agent }, signal) => {
    const needed = config.hardware.board === 'simulated' ? [] : needs(config);
    if (needed.length === 0) return undefined;
    const unit = await machine.unit(UNIT, signal);
    if (unit?.load !== 'loaded') return undefined;
    const there = unit.dropIns.map((path) => basename(path));
    const missing = needed.filter(({ dropIn, user }) => !there.includes(FILES[dropIn]) && !works(agent, user.name));
    const [first] = missing;
    if (first === undefined) return good([...new Set(needed.map(({ dropIn }) => dropIn))].join(', '));
    const names = [...new Set(missing.map(({ dropIn }) => dropIn))];
    const files = names.map((name) => `/usr/share/turnstone/${FILES[name]}`).join(' ');
    return fault(
      `${first.user.name} (${first.user.kind}) needs the drop-in ${FILES[first.dropIn]}, which is not there`,
      `install.sh --with ${names.join(',')}; with the Debian package: sudo install -D -m 644 -t /etc/systemd/system/${UNIT}.d ${files}, sudo systemctl daemon-reload; then sudo systemctl restart turnstone`,
    );
  },
);

/** Sensors and outputs that are on, each with the drop-in that it needs. */
function needs({ sensors, actuators, hardware }: AgentConfig): readonly {
  readonly user: SensorConfig | ActuatorConfig;
  readonly dropIn: DropIn;
}[] {
  return [...sensors, ...actuators].flatMap((user) => {
    const dropIn = user.enabled ? dropInOf(user, hardware) : undefined;
    return dropIn === undefined ? [] : [{ user, dropIn }];
  });
}

function dropInOf(user: SensorConfig | ActuatorConfig, { gpio }: AgentConfig['hardware']): DropIn | undefined {
  if (user.kind === 'pwm' || ('line' in user && gpio === 'sysfs')) return 'sysfs';
  return user.kind === 'iio' && user.buffer !== undefined ? 'iio' : undefined;
}

/** Somebody may have opened the sandbox by a drop-in of another name. */
function works(agent: AgentStatus | undefined, name: string): boolean {
  if (agent === undefined) return false;
  return (
    agent.sensors.some((one) => one.name === name && one.state === 'ok') ||
    agent.actuators.some((one) => one.name === name && one.fault === undefined)
  );
}
