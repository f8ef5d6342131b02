/** Places that a configuration uses: each with the sensor or output that has it, switched on or not. */
import { type ConfigDraft, clientAttributeUses, stateUses, totalUses } from '../config/checks/draft.ts';
import { draftOf } from '../config/parse-draft.ts';
import type { ActuatorConfig, AgentConfig, SensorConfig } from '../config/schema/agent-config.ts';
import { realPort } from '../host/tty-names.ts';

type User = SensorConfig | ActuatorConfig;

/** Returns the user of a chip, by its address on this bus. */
export function chipUsers({ sensors, actuators }: AgentConfig, bus: number): ReadonlyMap<number, User> {
  const users = new Map<number, User>();
  for (const user of [...sensors, ...actuators]) {
    const place = chipOf(user);
    if (place?.bus === bus) users.set(place.address, user);
  }
  return users;
}

/** Returns who may have a chip of a bus that the configuration does not name: an output there, or a driver of a user's own. */
export function unknownChipUser({ sensors, actuators }: AgentConfig, bus: number): string | undefined {
  const output = actuators.find((one) => chipOf(one)?.bus === bus);
  const driver = sensors.find(({ kind, enabled }) => kind === 'module' && enabled);
  return (output ?? driver)?.name;
}

export interface UsedPort {
  /** As the configuration writes it. */
  readonly port: string;
  readonly usedBy: string;
}

/** Returns the serial ports in use, by the path that all names of a port lead to. */
export async function usedPorts({ sensors, actuators }: AgentConfig): Promise<ReadonlyMap<string, UsedPort>> {
  const used = new Map<string, UsedPort>();
  for (const user of [...sensors, ...actuators]) {
    const port = portOf(user);
    if (port !== undefined) used.set(await realPort(port), { port, usedBy: user.name });
  }
  return used;
}

/** Returns the names and keys that a new sensor of the gateway's own may not have. */
export function takenWords(config: AgentConfig): readonly string[] {
  const draft: ConfigDraft = draftOf(config);
  const uses = [...draft.telemetry, ...stateUses(draft), ...totalUses(draft), ...clientAttributeUses(draft)];
  return [
    ...config.sensors.map(({ name }) => name),
    ...uses.filter(({ device }) => device === undefined).map(({ key }) => key),
  ];
}

/** Returns the one place that a user of chip, thermometer or serial port is at, as a text; undefined of others. */
export function placeOf(user: User): string | undefined {
  const chip = chipOf(user);
  if (chip !== undefined) return `${chip.bus} ${chip.address}`;
  return 'id' in user ? String(user.id) : portOf(user);
}

function chipOf(user: User): { readonly bus: number; readonly address: number } | undefined {
  return 'bus' in user ? user : undefined;
}

/** Returns the path of a serial port below `/dev`, not of one in the network. */
function portOf(user: User): string | undefined {
  const end = 'connection' in user ? user.connection : user;
  return 'port' in end && typeof end.port === 'string' && end.port.startsWith('/') ? end.port : undefined;
}
