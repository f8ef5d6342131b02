/** `turnstone scan modbus`: tries speeds, parities and unit numbers, and shows who answers. Units are only read: functions 3, 4, 17 and 43. */
import { DEFAULT_CONFIG_FILE } from '../config/fields/default-places.ts';
import { allModels } from '../config/models/find-models.ts';
import type { HardwareConfig } from '../config/schema/agent-config.ts';
import { hasCode, messageOf } from '../errors/agent-error.ts';
import type { ModbusConnection, ModbusIdentity, ModbusLink } from '../hardware/modbus-port.ts';
import { openPorts } from '../hardware/open-ports.ts';
import { withinMs } from '../host/bounded-wait.ts';
import { systemClock } from '../host/clock.ts';
import { reachAgent } from './agent-calls.ts';
import type { ScanCall } from './commands/init.ts';
import { CommandError, usageError } from './exit-code.ts';
import { yamlText } from './first-config.ts';
import { likelyModels, type ModelGuess } from './modbus-models.ts';
import { printable, withBar } from './printer.ts';

/** Looking for the models of one unit ends after this long; some are silent instead of refusing. */
const MAX_UNIT_MS = 60_000;
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

export async function scanModbus({ flags, edge, print }: ScanCall, hardware: HardwareConfig): Promise<void> {
  const found: FoundUnit[] = [];
  for (const connection of connectionsOf(flags)) {
    const ports = openPorts({ clock: systemClock, hardware });
    try {
      const link = await ports.modbus.open(connection, edge.signal);
      for (const unitId of await searchUnits(link, connection, flags.units ?? USUAL_UNITS, edge))
        found.push(await lookAt(link, connection, unitId));
    } catch (error) {
      throw hasCode(error, 'hardware/serial-busy') ? await heldFault(messageOf(error)) : error;
    } finally {
      await ports.close();
    }
    // All units of a line are spoken to alike.
    if (found.length > 0) break;
  }
  const withSections = found.map((unit) => ({ ...unit, section: sectionOf(unit) }));
  if (found.length > 0 || flags.json === true)
    return print.result(withSections, () => `sensors:\n${withSections.map(({ section }) => section).join('')}`);
  edge.stderr.write('no Modbus unit answered; check power, wiring (A, B, ground) or address, and try other --units, --baud, --parity\n');

  async function lookAt(link: ModbusLink, connection: ModbusConnection, unitId: number): Promise<FoundUnit> {
    const { models: known } = await allModels(flags.config ?? DEFAULT_CONFIG_FILE);
    const identity = await identityOf(link, unitId, edge.signal);
    const ask = (within: AbortSignal) => likelyModels({ link, unitId, identity }, known, within);
    const models = await withinMs(systemClock, MAX_UNIT_MS, ask, edge.signal);
    edge.signal.throwIfAborted();
    return { unitId, connection, identity, models };
  }

  /** Words the fault of a port that another program has open: most often the agent. */
  async function heldFault(message: string): Promise<CommandError> {
    const agent = await reachAgent({ config: flags.config }, edge).catch(() => undefined);
    await agent?.close();
    const stop = 'the agent runs here: stop it for the scan (systemctl stop turnstone), and start it again afterwards';
    return new CommandError(message, { nextStep: agent === undefined ? 'close that program, and scan again' : stop });
  }
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
    if (!/^\d{1,5}$/.test(port)) throw usageError(`${port} is no TCP port`, { nextStep: 'with --host, --port is a number' });
    return [{ transport, host, port: Number(port), responseTimeoutMs }];
  }
  if (!port.startsWith('/'))
    throw usageError('the place is missing', { nextStep: 'give --port /dev/ttyUSB0 or --host; turnstone scan serial lists ports' });
  return baud.flatMap((baudRate) => parity.map((one) => ({ transport: 'rtu' as const, port, baudRate, parity: one, responseTimeoutMs })));
}

/** Returns the numbers of the units that answer. A device that answers to every number is one. */
async function searchUnits(
  link: ModbusLink,
  connection: ModbusConnection,
  units: readonly number[],
  { stderr, signal }: ScanCall['edge'],
): Promise<readonly number[]> {
  const answering: number[] = [];
  await withBar(
    stderr,
    'baudRate' in connection ? `${connection.baudRate} baud, parity ${connection.parity}` : connection.host,
    async (bar) => {
      for (const [at, unitId] of units.entries()) {
        bar.update(at, units.length, (amount) => `${amount} units, ${answering.length} found`);
        if (await isThere(link, unitId, signal)) answering.push(unitId);
      }
    },
  );
  return connection.transport === 'tcp' && answering.length === units.length ? answering.slice(0, 1) : answering;
}

/** A refusal is an answer, too. @throws AgentError of the port. */
async function isThere(link: ModbusLink, unitId: number, signal: AbortSignal): Promise<boolean> {
  for (const table of ['holding', 'input'] as const) {
    try {
      await link.readRegisters(unitId, { table, address: 0, count: 1 }, signal);
      return true;
    } catch (fault) {
      if (ANSWERS.some((code) => hasCode(fault, code))) return true;
      if (signal.aborted || !SILENCES.some((code) => hasCode(fault, code))) throw fault;
    }
  }
  return false;
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
function sectionOf({ connection, unitId, identity: { maker, product, revision }, models: [best, ...others] }: FoundUnit): string {
  const { responseTimeoutMs: _ofScan, ...place } = connection;
  const fields = Object.entries(place).map(([name, value]) => `${name}: ${yamlText(`${value}`)}`);
  const told = printable([maker, product, revision].filter((part) => part !== undefined).join(' '));
  const alike = ['by its values', ...others.map(({ name }) => name)].join(', or ');
  const lines = [
    `- { name: unit${unitId}, kind: modbus, prefix: "unit${unitId}.", unitId: ${unitId},`,
    `    connection: { ${fields.join(', ')} },`,
    best === undefined
      ? '    registers: { power: { address: 0 } } } # its manual tells which it has'
      : `    model: ${best.name} }${best.isCertain ? '' : ` # ${alike}; check what is printed on it`}`,
  ].map((line) => `  ${best === undefined ? '# ' : ''}${line}\n`);
  return `  # Unit ${unitId}: ${best?.device ?? 'an unknown device'}${told === '' ? '' : `, tells "${told}"`}\n${lines.join('')}`;
}
