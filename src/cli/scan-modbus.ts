/**
 * `turnstone scan modbus`: tries speeds, parities and unit numbers, and shows who answers. Units are only read, by functions 1 to 4, 17 and 43, and
 * after a lost answer asked to send a number back (8).
 */
import { DEFAULT_CONFIG_FILE } from '../config/fields/default-places.ts';
import { allModels } from '../config/models/find-models.ts';
import { type ReadConfig, readConfig } from '../config/read-config.ts';
import type { ActuatorConfig, HardwareConfig, SensorConfig } from '../config/schema/agent-config.ts';
import { hasCode, messageOf } from '../errors/agent-error.ts';
import type { ModbusConnection, ModbusIdentity, ModbusLink } from '../hardware/modbus-port.ts';
import { openPorts } from '../hardware/open-ports.ts';
import { withinMs } from '../host/bounded-wait.ts';
import { type Clock, systemClock } from '../host/clock.ts';
import { reachAgent } from './agent-calls.ts';
import type { ScanCall } from './commands/init.ts';
import { CommandError, EXIT, usageError } from './exit-code.ts';
import { slotLines, yamlText } from './first-config.ts';
import { likelyModels, type ModelGuess } from './modbus-models.ts';
import { printable } from './printer.ts';
import { amountsOf, withProgress } from './progress.ts';

/** Looking for the models of one unit ends after this long; some are silent instead of refusing. */
const MAX_UNIT_MS = 60_000;
/** The same for all units. */
const MAX_LOOK_MS = 300_000;
const STOP_AGENT =
  'the agent runs here: stop it for the scan (systemctl stop turnstone), and start it again afterwards';
const USUAL_UNITS = Array.from({ length: 32 }, (_, at) => at + 1);
/** Faults that a unit itself has answered, and those of units that are not there or are spoken to at another speed. */
const ANSWERS = ['hardware/modbus-exception', 'hardware/modbus-busy', 'hardware/modbus-working'] as const;
const SILENCES = ['hardware/deadline', 'hardware/modbus-no-answer', 'hardware/modbus-bad-answer'] as const;
/** Places where a SunSpec map may begin, and its first registers, "SunS"; 4 behind them stand maker and product, 16 registers each. */
const SUNSPEC_PLACES = [40_000, 0, 50_000];
const SUNSPEC_MARK = [0x5375, 0x6e53];

interface FoundUnit {
  readonly unitId: number;
  readonly connection: ModbusConnection;
  readonly identity: ModbusIdentity;
  readonly models: readonly ModelGuess[];
}

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
      const unitIds = await searchUnits(link, connection, flags.units ?? USUAL_UNITS, edge);
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

  async function lookAt(
    link: ModbusLink,
    connection: ModbusConnection,
    unitId: number,
    signal: AbortSignal,
  ): Promise<FoundUnit> {
    const { models: known } = await allModels(flags.config ?? DEFAULT_CONFIG_FILE);
    const identity = await identityOf(link, unitId, signal);
    const ask = (within: AbortSignal) => likelyModels({ link, unitId, identity }, known, within);
    const models = await withinMs(clock, MAX_UNIT_MS, ask, signal);
    edge.signal.throwIfAborted();
    return { unitId, connection, identity, models };
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
  return 'port' in end ? /^tcp:\/\/(.*)$/.exec(end.port)?.[1]?.replace(/[[\]]/g, '').toLowerCase() : undefined;
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

/** Returns the numbers of the units that answer. When most numbers of a host give the same answer, it is one device that looks at no number. */
async function searchUnits(
  link: ModbusLink,
  connection: ModbusConnection,
  units: readonly number[],
  { stderr, signal }: ScanCall['edge'],
): Promise<readonly number[]> {
  const answers: { readonly unitId: number; readonly answer: string }[] = [];
  await withProgress(
    stderr,
    'baudRate' in connection ? `${connection.baudRate} baud, parity ${connection.parity}` : connection.host,
    async (progress) => {
      for (const [at, unitId] of units.entries()) {
        progress.update(at, units.length, amountsOf(`units, ${answers.length} found`));
        const answer = await firstAnswer(link, unitId, signal);
        if (answer !== undefined) answers.push({ unitId, answer });
      }
    },
  );
  const alike = [...Map.groupBy(answers, ({ answer }) => answer).values()].find(
    (same) => 'host' in connection && same.length > 1 && same.length > units.length / 2,
  );
  if (alike === undefined) return answers.map(({ unitId }) => unitId);
  stderr.write(`${alike.length} units answer alike, and are shown as one; name others with --units, one at a time\n`);
  return answers.filter((one) => one === alike[0] || !alike.includes(one)).map(({ unitId }) => unitId);
}

/** Returns the registers or the refusal that a unit answers with; nothing where none does. @throws AgentError of the port. */
async function firstAnswer(link: ModbusLink, unitId: number, signal: AbortSignal): Promise<string | undefined> {
  for (const table of ['holding', 'input'] as const) {
    try {
      return `${table} ${await link.readRegisters(unitId, { table, address: 0, count: 1 }, signal)}`;
    } catch (fault) {
      if (ANSWERS.some((code) => hasCode(fault, code))) return messageOf(fault);
      if (signal.aborted || !SILENCES.some((code) => hasCode(fault, code))) throw fault;
    }
  }
  return undefined;
}

/** Returns what a unit tells of itself; nothing where it does not. */
async function identityOf(link: ModbusLink, unitId: number, signal: AbortSignal): Promise<ModbusIdentity> {
  const words = (address: number, count: number): Promise<readonly number[]> =>
    link.readRegisters(unitId, { table: 'holding', address, count }, signal).catch(() => []);
  for (const at of SUNSPEC_PLACES) {
    const mark = await words(at, 2);
    if (SUNSPEC_MARK.some((word, index) => mark[index] !== word)) continue;
    const text = Buffer.from((await words(at + 4, 32)).flatMap((word) => [word >> 8, word & 0xff])).toString('latin1');
    const field = (from: number): string =>
      text
        .slice(from, from + 32)
        .replace(/\0.*$/s, '')
        .trim();
    return { maker: field(0), product: field(32), revision: `(SunSpec at ${at})` };
  }
  return await link.identify(unitId, signal).catch(() => ({}));
}

/** Lines of a configuration for a unit, as comments where nobody knows its registers. */
function sectionOf(
  { connection, unitId, identity: { maker, product, revision }, models: [best, ...others] }: FoundUnit,
  isDevice: boolean,
): string {
  const { responseTimeoutMs: _ofScan, ...place } = connection;
  const fields = Object.entries(place).map(([name, value]) => `${name}: ${yamlText(`${value}`)}`);
  const told = printable([maker, product, revision].filter((part) => part !== undefined).join(' '));
  const alike = ['by its values', ...others.map(({ name }) => name)].join(', or ');
  const lines = [
    `- { name: unit${unitId}, kind: modbus, ${isDevice ? `device: unit${unitId}` : `prefix: "unit${unitId}."`}, unitId: ${unitId},`,
    `    connection: { ${fields.join(', ')} },`,
    best === undefined
      ? '    registers: { power: { address: 0 } } } # its manual tells which it has'
      : `    model: ${best.name} }${best.isCertain ? '' : ` # ${alike}; check what is printed on it`}`,
  ].map((line) => `  ${best === undefined ? '# ' : ''}${line}\n`);
  return `  # Unit ${unitId}: ${best?.device ?? 'an unknown device'}${told === '' ? '' : `, tells "${told}"`}\n${lines.join('')}`;
}
