/**
 * Commands and attributes of one attached device: they reach its own actuators and sensors alone. A journal and a memory of shared values of its own
 * lie in its folder; its polls stand in turns with those of the other attached devices.
 */
import type { Actuators } from '../actuators/actuators.ts';
import { type OwnActuators, ownActuators } from '../actuators/own-actuators.ts';
import { DeviceAttributes } from '../attributes/device-attributes.ts';
import { keyUnits } from '../attributes/key-units.ts';
import { devicePolls } from '../config/keys/device-polls.ts';
import { namesForRules } from '../config/keys/sensor-keys.ts';
import type { AgentConfig, DeviceConfig } from '../config/schema/agent-config.ts';
import type { Device } from '../devices/device.ts';
import type { DeviceNames } from '../devices/device-names.ts';
import { gatewayName } from '../devices/self.ts';
import type { DeviceUpdates } from '../firmware/device-updates.ts';
import type { FirmwareOfDevice, FirmwareUpdates } from '../firmware/firmware-updates.ts';
import type { Alerts } from '../host/alert-list.ts';
import type { Log } from '../host/log.ts';
import { runTogether } from '../host/loops.ts';
import type { HostMachine } from '../host/machine.ts';
import type { Link } from '../link/link.ts';
import type { DeviceApi } from '../platform/device-api.ts';
import { PollTurns } from '../platform/poll-turns.ts';
import { RpcService } from '../rpc/rpc-service.ts';
import type { ToldCommand } from '../rpc/told-command.ts';
import type { Sampler, SensorState } from '../sensors/sampler.ts';
import { actuatorStatus, sensorStatus } from '../status/status-of.ts';
import { type JsonObject, type JsonValue, jsonOf } from '../values/json.ts';
import type { HardwareParts } from './hardware-parts.ts';
import { operationsFor, ownMethodConfigs } from './own-commands.ts';

export interface AttachedCommandsDeps extends Pick<HostMachine, 'clock' | 'files'> {
  readonly device: {
    readonly id: string;
    /** Exists, and is this device's alone. */
    readonly folder: string;
    readonly deviceApi: DeviceApi;
    /** For people. */
    readonly name: string;
  };
  readonly settings: DeviceConfig;
  readonly config: () => AgentConfig;
  /** Those of all devices. */
  readonly actuators: Pick<Actuators, 'configs' | 'control' | 'states'>;
  /** True while someone works on the machine. */
  readonly locked: () => boolean;
  readonly sampler: Pick<Sampler, 'readNow' | 'states'>;
  readonly turns: PollTurns;
  readonly link: Pick<Link, 'wakes'>;
  /** The gateway's name on the platform. */
  readonly gateway: () => string;
  readonly serialNumber: () => string | undefined;
  /** Opens its updates; undefined of the device that has none. */
  readonly openFirmware?: FirmwareUpdates['ofDevice'];
  readonly log: Log;
  readonly alerts: Alerts;
  /** Told of each command, with the device's name. */
  readonly onCommand?: (command: ToldCommand, device: string) => void;
}

/** As many as there are sockets for each kind of poll. */
const MAX_STANDING_POLLS = 8;
/** Readings that tell the firmware of the thing. */
const FIRMWARE_KEYS: ReadonlySet<string> = new Set(['firmware', 'firmwareVersion', 'firmware_version']);

export class AttachedCommands {
  readonly #rpc: RpcService | undefined;
  readonly #attributes: DeviceAttributes;
  readonly #firmware: DeviceUpdates | undefined;

  private constructor(rpc: RpcService | undefined, attributes: DeviceAttributes, firmware: DeviceUpdates | undefined) {
    this.#rpc = rpc;
    this.#attributes = attributes;
    this.#firmware = firmware;
  }

  /** Polls nothing yet. @throws AgentError `rpc/method-twice` (stop) for a declared method with a built-in one's name. */
  static async open(deps: AttachedCommandsDeps, signal: AbortSignal): Promise<AttachedCommands> {
    const { settings, config, turns, alerts, device } = deps;
    const polls = devicePolls(settings, config());
    const actuators = ownActuators(deps.actuators, settings.name);
    const log = logOf(deps);
    const rpc = polls.rpc ? await openRpc({ ...deps, log }, actuators) : undefined;
    const { control } = actuators;
    const isPulsing = () => actuators.configs.some(({ name }) => control.find(name)?.state.pulsing === true);
    const firmware = await deps.openFirmware?.({ ...ofDevice(device), settings, isPulsing, log });
    const units = keyUnits({ config, states: () => deps.sampler.states(), log }, settings.name);
    const attributes = await DeviceAttributes.open(
      {
        config,
        device,
        slot: settings.name,
        actuators,
        clock: deps.clock,
        files: deps.files,
        log,
        alerts,
        poll: polls.attributes ? { place: turns.place('attributes') } : undefined,
        firmware,
        wakes: () => deps.link.wakes('attributes'),
        identity: () => ({ ...identityOf(deps), ...units() }),
      },
      signal,
    );
    return new AttachedCommands(rpc, attributes, firmware);
  }

  /** Speaks with the platform until the signal aborts. When one loop fails all end, so that no kind of poll ever stands twice. @throws the first failure. */
  async run(signal: AbortSignal): Promise<void> {
    const beside = [this.#rpc, this.#firmware].filter((one) => one !== undefined);
    await runTogether(
      [...this.#attributes.loops(), ...beside.map((one) => (either: AbortSignal) => one.run(either))],
      signal,
    );
  }

  /** Everything known is on disk when this resolves. Idempotent; `run` has ended before. */
  async close(): Promise<void> {
    await Promise.all([this.#rpc?.close(), this.#attributes.close()]);
  }
}

/** Fields by their names: a getter is lost where an object is spread. */
function ofDevice({ id, name, folder, deviceApi }: AttachedCommandsDeps['device']): AttachedCommandsDeps['device'] {
  return { id, name, folder, deviceApi };
}

function openRpc(deps: AttachedCommandsDeps, actuators: OwnActuators): Promise<RpcService> {
  const { device, settings, config, clock, files, log, locked, sampler, turns } = deps;
  return RpcService.open({
    config,
    deviceApi: device.deviceApi,
    clock,
    files,
    log,
    locked,
    methods: operationsFor({
      slot: settings.name,
      config,
      actuators,
      sampler,
      parts: {},
      status: () => statusOf(deps),
    }),
    permissions: ownMethodConfigs(config(), settings.name),
    folder: device.folder,
    place: turns.place('rpc'),
    wakes: () => deps.link.wakes('commands'),
    onContact: () => actuators.control.contact.heard(),
    onCommand: (command) => deps.onCommand?.(command, device.name),
  });
}

function statusOf(deps: AttachedCommandsDeps): JsonObject {
  const own = new Set(ownActuators(deps.actuators, deps.settings.name).configs.map(({ name }) => name));
  return {
    ...identityOf(deps),
    name: deps.device.name,
    sensors: jsonOf(ownStates(deps).map(sensorStatus)),
    actuators: jsonOf(
      deps.actuators
        .states()
        .filter(({ name }) => own.has(name))
        .map(actuatorStatus),
    ),
  };
}

/** Undefined values are left out: nothing of them is known yet. */
function identityOf(deps: AttachedCommandsDeps): JsonObject {
  const states = ownStates(deps);
  return {
    serialNumber: deps.serialNumber(),
    firmware: firmwareIn(deps, states),
    gateway: deps.gateway(),
    active: isActive(states),
  };
}

function firmwareIn({ config }: AttachedCommandsDeps, states: readonly SensorState[]): JsonValue | undefined {
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

function ownStates({ config, settings, sampler }: AttachedCommandsDeps): readonly SensorState[] {
  const own = new Set(config().sensors.flatMap(({ name, device }) => (device === settings.name ? [name] : [])));
  return sampler.states().filter(({ name }) => own.has(name));
}

/** Names the device in each line. */
function logOf({ log, device: { name: device } }: AttachedCommandsDeps): Log {
  return {
    debug: (fields, message) => log.debug({ device, ...fields }, message),
    info: (fields, message) => log.info({ device, ...fields }, message),
    warn: (fields, message) => log.warn({ device, ...fields }, message),
    error: (fields, message) => log.error({ device, ...fields }, message),
  };
}

export interface RunAttachedDeps
  extends Omit<
    AttachedCommandsDeps,
    'device' | 'settings' | 'actuators' | 'locked' | 'sampler' | 'turns' | 'gateway' | 'serialNumber' | 'openFirmware'
  > {
  readonly self: Parameters<typeof gatewayName>[0];
  readonly hardware: () => Pick<HardwareParts, 'actuators' | 'sampler'>;
  readonly firmware: () => Pick<FirmwareUpdates, 'ofDevice'>;
}

/** Answers commands and attributes of each device that is in a slot; all of them take turns at their polls. */
export function runAttachedCommands(deps: RunAttachedDeps) {
  const turns = new PollTurns({ clock: deps.clock, max: MAX_STANDING_POLLS });
  return async (device: Device, names: DeviceNames, signal: AbortSignal): Promise<void> => {
    const settings = names.slotOf(device.id);
    if (settings === undefined) return;
    const { actuators, sampler } = deps.hardware();
    const firmware = deps.firmware();
    const commands = await AttachedCommands.open(
      {
        ...deps,
        device,
        settings,
        actuators,
        sampler,
        turns,
        openFirmware: (opened: FirmwareOfDevice) => firmware.ofDevice(opened),
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
