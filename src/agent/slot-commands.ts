/**
 * Commands, attributes and updates of the device in a slot of the configuration: what it says of itself, and polls that stand in turns with those
 * of the other devices.
 */
import type { Actuators } from '../actuators/actuators.ts';
import { ownActuators } from '../actuators/own-actuators.ts';
import { keyUnits } from '../attributes/key-units.ts';
import { devicePolls } from '../config/keys/device-polls.ts';
import { namesForRules } from '../config/keys/sensor-keys.ts';
import type { AgentConfig, DeviceConfig } from '../config/schema/agent-config.ts';
import type { Device, DeviceAtPlatform } from '../devices/device.ts';
import type { DeviceNames } from '../devices/device-names.ts';
import { gatewayName } from '../devices/self.ts';
import { refusal } from '../errors/agent-error.ts';
import type { FirmwareUpdates } from '../firmware/firmware-updates.ts';
import type { Alerts } from '../host/alert-list.ts';
import type { Log } from '../host/log.ts';
import { runTogether } from '../host/loops.ts';
import type { HostMachine } from '../host/machine.ts';
import type { Link } from '../link/link.ts';
import type { AlarmsToSee } from '../operations/alarm-operations.ts';
import { PollTurns } from '../platform/poll-turns.ts';
import type { LineMachine } from '../rpc/line-methods.ts';
import type { ToldCommand } from '../rpc/told-command.ts';
import type { Sampler, SensorState } from '../sensors/sampler.ts';
import { namedActuators, namedSensors } from '../status/status-of.ts';
import { type JsonObject, type JsonValue, jsonOf } from '../values/json.ts';
import { DeviceCommands } from './device-commands.ts';
import type { HardwareParts } from './hardware-parts.ts';
import { operationsFor } from './own-commands.ts';

export interface SlotCommandsDeps extends Pick<HostMachine, 'clock' | 'files'> {
  readonly device: DeviceAtPlatform;
  readonly settings: DeviceConfig;
  readonly config: () => AgentConfig;
  /** Outputs of all devices. */
  readonly actuators: Pick<Actuators, 'configs' | 'control' | 'states'>;
  /** True while someone works on the machine. */
  readonly locked: () => boolean;
  readonly sampler: Pick<Sampler, 'readNow' | 'states'>;
  /** Ports on which the devices of its sensors are told commands. */
  readonly ports: LineMachine['ports'];
  readonly turns: PollTurns;
  readonly link: Pick<Link, 'wakes'>;
  /** The gateway's name on the platform. */
  readonly gateway: () => string;
  readonly serialNumber: () => string | undefined;
  readonly firmware: Pick<FirmwareUpdates, 'ofSlot'>;
  readonly log: Log;
  readonly alerts: Alerts;
  /** Alarms of all devices. */
  readonly alarms: () => AlarmsToSee;
  /** Told of each command, with the device's name. */
  readonly onCommand?: (command: ToldCommand, device: string) => void;
}

/** Bound of the polls that stand at once: the sockets for each kind of poll. */
const MAX_STANDING_POLLS = 8;
/** Keys of readings that carry the version of the device's own firmware. */
const FIRMWARE_KEYS: ReadonlySet<string> = new Set(['firmware', 'firmwareVersion', 'firmware_version']);

/** Polls nothing yet. @throws AgentError as DeviceCommands.open. */
export async function openSlotCommands(
  deps: SlotCommandsDeps,
  signal: AbortSignal,
): Promise<Pick<DeviceCommands, 'run' | 'close'>> {
  const { device, settings, config, turns, clock, files, alerts, sampler, locked, link, onCommand } = deps;
  const slot = settings.name;
  const polls = devicePolls(settings, config());
  const actuators = ownActuators(deps.actuators, slot);
  const log = logOf(deps);
  const { control } = actuators;
  const isPulsing = () => actuators.configs.some(({ name }) => control.find(name)?.state.pulsing === true);
  const updates = await deps.firmware.ofSlot({ device, settings, isPulsing, log });
  const units = keyUnits({ config, states: () => sampler.states(), log }, slot);
  const commands = await DeviceCommands.open(
    {
      config,
      slot,
      device,
      actuators,
      clock,
      files,
      log,
      alerts,
      locked,
      methods: operationsFor({
        slot,
        config,
        actuators,
        sampler,
        parts: { alarms: ownAlarms(deps) },
        status: () => statusOf(deps),
        tellsOn: { clock, ports: deps.ports },
      }),
      polls: {
        rpc: polls.rpc ? { place: turns.place('rpc') } : undefined,
        attributes: polls.attributes ? { place: turns.place('attributes') } : undefined,
      },
      wakes: link.wakes,
      firmware: updates,
      identity: () => ({ ...identityOf(deps), ...units() }),
      onCommand: (command) => onCommand?.(command, device.name),
    },
    signal,
  );
  if (updates === undefined) return commands;
  return {
    run: (either) => runTogether([(own) => commands.run(own), (own) => updates.run(own)], either),
    close: () => commands.close(),
  };
}

/** Alarms of its own sensors; it knows no others. */
function ownAlarms({ config, settings, alarms }: SlotCommandsDeps): AlarmsToSee {
  return {
    acknowledgeAlarm: (choice, by) => {
      const isOwn = config().sensors.some(({ name, device }) => name === choice.sensor && device === settings.name);
      if (!isOwn) throw refusal('sensors/unknown', `there is no sensor ${choice.sensor}`);
      return alarms().acknowledgeAlarm(choice, by);
    },
  };
}

function statusOf(deps: SlotCommandsDeps): JsonObject {
  const own = new Set(ownActuators(deps.actuators, deps.settings.name).configs.map(({ name }) => name));
  return {
    ...identityOf(deps),
    name: deps.device.name,
    sensors: jsonOf(namedSensors(ownStates(deps), deps.config().sensors)),
    actuators: jsonOf(
      namedActuators(
        deps.actuators.states().filter(({ name }) => own.has(name)),
        deps.config(),
      ),
    ),
  };
}

/** Undefined values are left out: nothing of them is known yet. */
function identityOf(deps: SlotCommandsDeps): JsonObject {
  const states = ownStates(deps);
  return {
    serialNumber: deps.serialNumber(),
    firmware: firmwareIn(deps, states),
    gateway: deps.gateway(),
    active: isActive(states),
  };
}

function firmwareIn({ config }: SlotCommandsDeps, states: readonly SensorState[]): JsonValue | undefined {
  const { sensors } = config();
  for (const { name, readings } of states) {
    const sensor = sensors.find((one) => one.name === name);
    const found = readings.find(
      ({ key }) => sensor !== undefined && namesForRules(sensor, key).some((one) => FIRMWARE_KEYS.has(one)),
    );
    if (found !== undefined) return found.value;
  }
  return undefined;
}

/** True while any of its sensors answers, or it has none; undefined until the first has been read. */
function isActive(states: readonly SensorState[]): boolean | undefined {
  if (states.length === 0 || states.some(({ state }) => state === 'working')) return true;
  return states.some(({ state }) => state === 'starting') ? undefined : false;
}

function ownStates({ config, settings, sampler }: SlotCommandsDeps): readonly SensorState[] {
  const own = new Set(config().sensors.flatMap(({ name, device }) => (device === settings.name ? [name] : [])));
  return sampler.states().filter(({ name }) => own.has(name));
}

/** Names the device in each line. */
function logOf({ log, device: { name: device } }: SlotCommandsDeps): Log {
  return {
    debug: (fields, message) => log.debug({ device, ...fields }, message),
    info: (fields, message) => log.info({ device, ...fields }, message),
    warn: (fields, message) => log.warn({ device, ...fields }, message),
    error: (fields, message) => log.error({ device, ...fields }, message),
  };
}

export interface AllSlotCommandsDeps
  extends Pick<SlotCommandsDeps, 'clock' | 'files' | 'config' | 'link' | 'log' | 'alerts' | 'alarms' | 'onCommand'> {
  readonly self: Parameters<typeof gatewayName>[0];
  readonly hardware: () => Pick<HardwareParts, 'actuators' | 'sampler' | 'ports'>;
  readonly firmware: () => SlotCommandsDeps['firmware'];
}

/** Answers commands and attributes of each device that is in a slot; all of them take turns at their polls. */
export function slotCommands(deps: AllSlotCommandsDeps) {
  const turns = new PollTurns({ clock: deps.clock, max: MAX_STANDING_POLLS });
  return async (device: Device, names: DeviceNames, signal: AbortSignal): Promise<void> => {
    const settings = names.slotOf(device.id);
    if (settings === undefined) return;
    const { actuators, sampler, ports } = deps.hardware();
    const commands = await openSlotCommands(
      {
        ...deps,
        device,
        settings,
        actuators,
        sampler,
        ports,
        turns,
        firmware: deps.firmware(),
        locked: () => actuators.lockout.locked,
        gateway: () => gatewayName(deps.self, deps.config().provisioning?.deviceName),
        serialNumber: () => names.serialNumberOf(device.id),
      },
      signal,
    );
    try {
      await commands.run(signal);
    } finally {
      await commands.close();
    }
  };
}
