/** `turnstone scan modbus`: tries speeds, parities and unit numbers, and shows who answers. */
import { DEFAULT_CONFIG_FILE } from '../config/fields/default-places.ts';
import { allModels } from '../config/models/find-models.ts';
import { type ReadConfig, readConfig } from '../config/read-config.ts';
import type { ActuatorConfig, HardwareConfig, SensorConfig } from '../config/schema/agent-config.ts';
import { hasCode, messageOf } from '../errors/agent-error.ts';
import type { ModbusConnection, ModbusLink } from '../hardware/modbus-port.ts';
import { openPorts } from '../hardware/open-ports.ts';
import { withinMs } from '../host/bounded-wait.ts';
import { type Clock, systemClock } from '../host/clock.ts';
import { printable } from '../names/printable.ts';
import { type FoundUnit, lookAtUnit, searchUnits, USUAL_UNITS } from '../scan/modbus-units.ts';
import { unitPlace } from '../scan/sections.ts';
import { reachAgent } from './agent-calls.ts';
import type { ScanCall } from './commands/init.ts';
import { CommandError, EXIT, usageError } from './exit-code.ts';
import { flowText, slotLines } from './first-config.ts';
import { amountsOf, withProgress } from './progress.ts';

/** Looking for the models of all units ends after this long. */
const MAX_LOOK_MS = 300_000;
const STOP_AGENT =
  'the agent runs here: stop it for the scan (systemctl stop turnstone), and start it again afterwards';
export async function scanModbus(
  { flags, edge, print }: ScanCall,
  hardware: HardwareConfig,
  clock: Clock = systemClock,
): Promise<void> {
  const found: FoundUnit[] = [];
  const connections = connectionsOf(flags);
  if (flags.host !== undefined && flags.simulate === undefined) await refuseUsedHost(flags.host, flags.port);
  for (const connection of connections) {
    const ports = openPorts({ clock: systemClock, hardware });
    try {
      const link = await ports.modbus.open(connection, edge.signal);
      const unitIds = await unitsBehind(link, connection);
      const look = async (all: AbortSignal): Promise<void> => {
        for (const unitId of unitIds) found.push(await lookAt(link, connection, unitId, all));
        if (all.aborted) edge.stderr.write('there was no time to look at all units; name some with --units\n');
      };
      await withinMs(clock, MAX_LOOK_MS, look, edge.signal);
    } catch (error) {
      throw hasCode(error, 'hardware/serial-busy') ? await heldFault(messageOf(error)) : error;
    } finally {
      await ports.close();
    }
    // All units of a line are spoken to alike.
    if (found.length > 0) break;
  }
  const withSections = found.map((unit) => ({ ...unit, section: sectionOf(unit, flags.devices === true) }));
  if (found.length > 0 || flags.json === true)
    return print.result(withSections, () => {
      const known = flags.devices === true ? found.filter(({ models }) => models.length > 0) : [];
      const slots = known.map(({ unitId }) => ({ name: `unit${unitId}`, keys: [] }));
      return `${slotLines(slots)}sensors:\n${withSections.map(({ section }) => section).join('')}`;
    });
  edge.stderr.write(
    flags.host === undefined
      ? 'no Modbus unit answered; check power, wiring (A, B, ground) or address, and try other --units, --baud, --parity\n'
      : 'no Modbus unit answered; check power and address, and try other --units, and a longer --timeout (5s): a gateway asks each mute unit several times\n',
  );

  async function unitsBehind(link: ModbusLink, connection: ModbusConnection): Promise<readonly number[]> {
    const units = flags.units ?? USUAL_UNITS;
    const label =
      'baudRate' in connection ? `${connection.baudRate} baud, parity ${connection.parity}` : connection.host;
    const { unitIds, alike } = await withProgress(edge.stderr, label, (progress) => {
      const onProgress = (done: number, answered: number): void =>
        progress.update(done, units.length, amountsOf(`units, ${answered} found`));
      return searchUnits(link, connection, units, { onProgress }, edge.signal);
    });
    if (alike > 0)
      edge.stderr.write(`${alike} units answer alike, and are shown as one; name others with --units, one at a time\n`);
    return unitIds;
  }

  async function lookAt(
    link: ModbusLink,
    connection: ModbusConnection,
    unitId: number,
    signal: AbortSignal,
  ): Promise<FoundUnit> {
    const { models } = await allModels(flags.config ?? DEFAULT_CONFIG_FILE);
    const unit = await lookAtUnit(link, { connection, unitId, models }, clock, signal);
    edge.signal.throwIfAborted();
    return unit;
  }

  /** Words the fault of a port that another program has open: most often the agent. */
  async function heldFault(message: string): Promise<CommandError> {
    return new CommandError(message, {
      nextStep: (await agentRuns()) ? STOP_AGENT : 'close that program, and scan again',
    });
  }

  /** Behind a converter each takes the other's answers. @throws CommandError for a host that the running agent has in its configuration. */
  async function refuseUsedHost(host: string, port: string): Promise<void> {
    if (!(await agentRuns())) return;
    const { config, meanwhile = config } = await readConfig(flags.config ?? DEFAULT_CONFIG_FILE, edge).catch(
      (): Partial<ReadConfig> => ({}),
    );
    if (meanwhile === undefined)
      edge.stderr.write('the agent runs, and its hosts cannot be read here: stop it if this is one of them\n');
    const places = [...(meanwhile?.sensors ?? []), ...(meanwhile?.actuators ?? [])].map(hostPlaceOf);
    if (places.includes(hostPlace(host, port)))
      throw new CommandError(`${host}, port ${port} is used by the agent`, { nextStep: STOP_AGENT });
  }

  /** True also for an agent that this user may not ask. */
  async function agentRuns(): Promise<boolean> {
    try {
      await (await reachAgent({ config: flags.config }, edge)).close();
      return true;
    } catch (error) {
      return error instanceof CommandError && error.exitCode === EXIT.noPermission;
    }
  }
}

/** Place in the network of whatever a sensor or actuator speaks with over Modbus or a device server. */
function hostPlaceOf(config: SensorConfig | ActuatorConfig): string | undefined {
  const end = 'connection' in config ? config.connection : config;
  if ('host' in end) return hostPlace(end.host, end.port);
  return 'port' in end
    ? /^(?:tcp|rfc2217):\/\/(.*)$/.exec(end.port)?.[1]?.replace(/[[\]]/g, '').toLowerCase()
    : undefined;
}

function hostPlace(host: string, port: number | string): string {
  return `${host.replace(/[[\]]/g, '').toLowerCase()}:${Number(port)}`;
}

/** Connections to try, in this order. @throws CommandError (usage) without a port or host. */
function connectionsOf({
  port,
  host,
  transport,
  baud,
  parity,
  timeout: responseTimeoutMs,
}: ScanCall['flags']): readonly ModbusConnection[] {
  if (host !== undefined) {
    if (!/^\d{1,5}$/.test(port))
      throw usageError(`${port} is no TCP port`, { nextStep: 'with --host, --port is a number' });
    return [{ transport, host, port: Number(port), responseTimeoutMs }];
  }
  if (!port.startsWith('/'))
    throw usageError('the place is missing', {
      nextStep: 'give --port /dev/ttyUSB0 or --host; turnstone scan serial lists ports',
    });
  return baud.flatMap((baudRate) =>
    parity.map((one) => ({ transport: 'rtu' as const, port, baudRate, parity: one, responseTimeoutMs })),
  );
}

/** Lines of a configuration for a unit, as comments where nobody knows its registers. */
function sectionOf(
  { connection, unitId, identity: { maker, product, revision }, models: [best, ...others] }: FoundUnit,
  isDevice: boolean,
): string {
  const told = printable([maker, product, revision].filter((part) => part !== undefined).join(' '));
  const alike = ['by its values', ...others.map(({ name }) => name)].join(', or ');
  const lines = [
    `- { name: unit${unitId}, kind: modbus, ${isDevice ? `device: unit${unitId}` : `prefix: "unit${unitId}."`}, unitId: ${unitId},`,
    `    connection: ${flowText(unitPlace(connection))},`,
    best === undefined
      ? '    registers: { power: { address: 0 } } } # its manual tells which it has'
      : `    model: ${best.name} }${best.isCertain ? '' : ` # ${alike}; check what is printed on it`}`,
  ].map((line) => `  ${best === undefined ? '# ' : ''}${line}\n`);
  return `  # Unit ${unitId}: ${best?.device ?? 'an unknown device'}${told === '' ? '' : `, tells "${told}"`}\n${lines.join('')}`;
}
