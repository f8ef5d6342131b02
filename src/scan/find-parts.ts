/**
 * Search for what is connected to the board of a running agent and not configured yet. It looks through the agent's own ports, so that each transfer waits its
 * turn among those of the sensors. A chip, thermometer or port that the configuration names is told from the configuration, and not touched.
 *
 *   I2C buses, one-wire, serial ports ─► who answers or speaks, and is used by nobody ─► section by a free name ─► one reading by its driver
 */
import { sensorKeys } from '../config/keys/sensor-keys.ts';
import { sentReading } from '../config/keys/sent-reading.ts';
import { allModels } from '../config/models/find-models.ts';
import { withModels } from '../config/models/with-models.ts';
import { withPresets } from '../config/models/with-presets.ts';
import type { ActuatorConfig, AgentConfig, SensorConfig } from '../config/schema/agent-config.ts';
import { sensorSchema } from '../config/schema/sensors.ts';
import { AgentError, messageOf, refusal } from '../errors/agent-error.ts';
import { addressInWords } from '../hardware/i2c-port.ts';
import type { ModbusConnection } from '../hardware/modbus-port.ts';
import type { SerialDescription } from '../hardware/serial-port.ts';
import { withinMs } from '../host/bounded-wait.ts';
import { isConsole, realPort } from '../host/tty-names.ts';
import { oneWireKind } from '../kinds/identify-chip.ts';
import { definitionOf, type SensorKind } from '../kinds/sensor-kinds.ts';
import { printable } from '../names/printable.ts';
import { shownText } from '../names/shown-text.ts';
import type { FoundPart, FoundParts, FoundPort, ModbusSearch } from '../operations/part-operations.ts';
import type { JsonObject } from '../values/json.ts';
import { type FoundChip, scanI2cBus } from './find-chips.ts';
import type { FoundKernelDevice } from './find-kernel-devices.ts';
import { FreeNames } from './free-names.ts';
import { type HeardPort, listenOn, SILENCE } from './listen.ts';
import { type FoundUnit, lookAtUnit, searchUnits, USUAL_UNITS } from './modbus-units.ts';
import type { PartFinderDeps } from './part-finder.ts';
import { chipSection, guessSection, kernelSection, thermometerSection, unitSection } from './sections.ts';
import { readingsFrom, serialCandidates } from './serial-guesses.ts';
import { chipUsers, placeOf, takenWords, unknownChipUser, usedPorts } from './users.ts';

/** One bus: a chip that holds its clock costs a second for each address. */
const MAX_BUS_MS = 15_000;
/** Listening at one speed, and at all of them. */
const LISTEN_MS = 2_000;
const MAX_LISTEN_MS = 10_000;
/** One reading of what was found. */
const MAX_READ_MS = 3_000;
const RESPONSE_TIMEOUT_MS = 300;
const CONSOLE = 'the console of this machine';
/** Parities of Modbus lines, the most usual of meters first; none of the others is tried once a unit has answered. */
const PARITIES = ['none', 'even'] as const;

/** Something found, before it has a name. */
interface Sighting extends Omit<FoundPart, 'readings' | 'sensor'> {
  /** Makes its section. */
  readonly section?: (names: FreeNames) => JsonObject | undefined;
  /** True where its driver may try a reading. Drivers write to their chips: a doubtful chip is left alone. */
  readonly isReadable?: boolean;
}

/** A search; it ends with what it has found when the signal aborts. */
export class Search {
  readonly #deps: PartFinderDeps;

  constructor(deps: PartFinderDeps) {
    this.#deps = deps;
  }

  async everywhere(signal: AbortSignal): Promise<FoundParts> {
    const faults: string[] = [];
    const [chips, thermometers, kernel, serial] = await Promise.all([
      this.#onBuses(faults, signal),
      this.#onOneWire(faults, signal),
      this.#inKernel(faults, signal),
      this.#onPorts(faults, signal),
    ]);
    const found = await this.#named([...chips, ...thermometers, ...kernel, ...serial.sightings], signal);
    return { found, ports: serial.ports, faults };
  }

  async #onBuses(faults: string[], signal: AbortSignal): Promise<readonly Sighting[]> {
    const { ports, clock } = this.#deps;
    const buses = await noted('I2C', faults, [], () => ports.i2c.list(signal));
    const sightings: Sighting[] = [];
    for (const bus of buses) {
      const label = `I2C bus ${bus}`;
      const config = this.#deps.config();
      const users = chipUsers(config, bus);
      for (const [address, user] of users)
        sightings.push(usedSighting(chipId(bus, address), chipPlace(bus, address), user));
      const unknown = unknownChipUser(config, bus);
      if (unknown !== undefined)
        faults.push(`${label}: chips there were not identified, as ${unknown} may use one of them`);
      const options = {
        // By the configuration in force then: a reload may name a chip meanwhile.
        isLeftAlone: (address: number): boolean => chipUsers(this.#deps.config(), bus).has(address),
        addressesOnly: unknown !== undefined,
        onFound: (chip: FoundChip): void => void sightings.push(chipSighting(chip)),
      };
      const look = (within: AbortSignal) => scanI2cBus(ports, bus, options, within);
      await noted(label, faults, [], () => withinMs(clock, MAX_BUS_MS, look, signal));
    }
    return sightings;
  }

  async #onOneWire(faults: string[], signal: AbortSignal): Promise<readonly Sighting[]> {
    const ids = await noted('one-wire', faults, [], () => this.#deps.ports.oneWire.list(signal));
    const { sensors } = this.#deps.config();
    return ids.map((id): Sighting => {
      const [partId, place] = [`one-wire-${id}`, `one-wire, id ${id}`];
      const user = sensors.find((sensor) => 'id' in sensor && sensor.id === id);
      if (user !== undefined) return usedSighting(partId, place, user);
      const kind = oneWireKind(id);
      if (kind === undefined) return { id: partId, place, what: 'an unknown one-wire part' };
      const section = (names: FreeNames): JsonObject => thermometerSection(id, kind, names);
      return { id: partId, place, what: kindText(kind), section, isReadable: true };
    });
  }

  /** Chips that the kernel reads. */
  async #inKernel(faults: string[], signal: AbortSignal): Promise<readonly Sighting[]> {
    const { ports, config } = this.#deps;
    const all = await noted('drivers of the kernel', faults, [], async () => {
      const { chipsAmong, findKernelDevices } = await import('./find-kernel-devices.ts');
      return chipsAmong(await findKernelDevices(ports, ['iio', 'hwmon'], signal));
    });
    return all.map((device): Sighting => {
      const { kind, chip, place: at, channels } = device;
      const [id, place] = [`${kind}-${at}`, `${kind === 'iio' ? 'Industrial I/O' : 'hardware monitors'}, ${at}`];
      const user = config().sensors.find((sensor) => isReaderOf(sensor, device));
      if (user !== undefined) return usedSighting(id, place, user);
      const section = (names: FreeNames): JsonObject => kernelSection(device, names, { hasKeys: true });
      return { id, place, what: `${chip}: ${channels.join(', ')}`, section, isReadable: true };
    });
  }

  async #onPorts(
    faults: string[],
    signal: AbortSignal,
  ): Promise<{ readonly ports: readonly FoundPort[]; readonly sightings: readonly Sighting[] }> {
    const { clock, configFile } = this.#deps;
    const known = await this.#portsHere(faults, signal);
    const free = known.flatMap(({ usedBy, description }) => (usedBy === undefined ? [description] : []));
    const ports = known.map(({ description: { path }, usedBy }) => ({ port: path, ...(usedBy && { usedBy }) }));
    if (free.length === 0) return { ports, sightings: [] };
    const candidates = await serialCandidates(configFile);
    const listen = (within: AbortSignal) => listenOn(this.#deps, free, { forMs: LISTEN_MS, candidates }, within);
    const heard = await withinMs(clock, MAX_LISTEN_MS, listen, signal);
    for (const { path, heard: one } of heard)
      if (one !== undefined && one.settings === undefined && one.what !== SILENCE) faults.push(`${path}: ${one.what}`);
    return { ports, sightings: heard.flatMap(heardSightings) };
  }

  /** Serial ports of the machine and of the configuration. */
  async #portsHere(
    faults: string[],
    signal: AbortSignal,
  ): Promise<readonly { readonly description: SerialDescription; readonly usedBy?: string }[]> {
    const { ports, config } = this.#deps;
    const listed = await noted('serial ports', faults, [], () => ports.serial.list(signal));
    const used = await usedPorts(config());
    const here = await Promise.all(
      listed.map(async (description) => {
        const usedBy =
          used.get(await realPort(description.path))?.usedBy ??
          ((await isConsole(description.path)) ? CONSOLE : undefined);
        return { description, ...(usedBy !== undefined && { usedBy }) };
      }),
    );
    const paths = new Set(await Promise.all(listed.map(({ path }) => realPort(path))));
    const others = [...used].filter(([path]) => !paths.has(path));
    return [...here, ...others.map(([, { port: path, usedBy }]) => ({ description: { path }, usedBy }))];
  }

  /** @throws AgentError `scan/no-port` (drop), `scan/port-in-use` (hold). */
  async onLine({ port, baudRate }: ModbusSearch, signal: AbortSignal): Promise<FoundParts> {
    const faults: string[] = [];
    const known = await this.#portsHere(faults, signal);
    const place = known.find(({ description: { path, stablePath } }) => path === port || stablePath === port);
    if (place === undefined) throw refusal('scan/no-port', `this machine has no serial port ${printable(port)}`);
    const { description, usedBy } = place;
    if (usedBy !== undefined)
      throw new AgentError('scan/port-in-use', `${description.path} is used by ${usedBy}`, { recovery: 'hold' });
    const units: FoundUnit[] = [];
    for (const parity of PARITIES) {
      if (units.length > 0 || signal.aborted) break;
      const connection = {
        transport: 'rtu',
        port: description.path,
        baudRate,
        parity,
        responseTimeoutMs: RESPONSE_TIMEOUT_MS,
      } as const;
      await noted(description.path, faults, undefined, () => this.#unitsOn(connection, units, signal));
    }
    const sightings = units.map((unit) => unitSighting(unit, description));
    return { found: await this.#named(sightings, signal), ports: [{ port: description.path }], faults };
  }

  async #unitsOn(connection: ModbusConnection, units: FoundUnit[], signal: AbortSignal): Promise<void> {
    const { ports, clock, configFile, units: asked = USUAL_UNITS } = this.#deps;
    const link = await ports.modbus.open(connection, signal);
    try {
      const { unitIds } = await searchUnits(link, connection, asked, {}, signal);
      const { models } = await allModels(configFile);
      for (const unitId of unitIds) units.push(await lookAtUnit(link, { connection, unitId, models }, clock, signal));
    } finally {
      await link.close();
    }
  }

  /** Gives each its section and a reading. */
  async #named(sightings: readonly Sighting[], signal: AbortSignal): Promise<readonly FoundPart[]> {
    const names = new FreeNames(takenWords(this.#deps.config()));
    const found: FoundPart[] = [];
    for (const { section: make, isReadable = false, ...part } of sightings) {
      const section = make?.(names);
      if (section === undefined) found.push(part);
      else found.push({ ...part, ...(await this.#tried(section, isReadable, signal)) });
    }
    return found;
  }

  /** Returns the section with what its driver has read; without it where there was no reading, as it may only not have spoken. */
  async #tried(
    section: JsonObject,
    isReadable: boolean,
    signal: AbortSignal,
  ): Promise<Pick<FoundPart, 'sensor' | 'readings'>> {
    const { clock, configFile } = this.#deps;
    const config = isReadable && !signal.aborted ? await parsedSensor(section, configFile) : undefined;
    if (config === undefined || isTaken(config, this.#deps.config())) return { sensor: section };
    const read = (within: AbortSignal) => readingsFrom(config, this.#deps, within);
    const readings = await withinMs(clock, MAX_READ_MS, read, signal).catch(() => []);
    if (readings.length === 0) return { sensor: section };
    const texts = readings.map((reading) => {
      // By the key on the chip's sheet: that of the platform may have a number behind it.
      const { key } = reading;
      const { value, unit } = sentReading(config, reading);
      return printable(`${key} ${shownText(value, { key, unit })}`);
    });
    return { sensor: section, readings: texts };
  }
}

/** Tells if a reload has named the chip, thermometer or port of a section since it was found. */
function isTaken(section: SensorConfig, { sensors, actuators }: AgentConfig): boolean {
  const place = placeOf(section);
  return place !== undefined && [...sensors, ...actuators].some((user) => placeOf(user) === place);
}

/** Tells if a sensor reads a device of the kernel. */
function isReaderOf(sensor: SensorConfig, { kind, chip, place, isNameShared }: FoundKernelDevice): boolean {
  return (
    sensor.kind === kind &&
    'chip' in sensor &&
    sensor.chip === chip &&
    (!isNameShared || sensor.at === undefined || sensor.at.split('/').at(-1) === place)
  );
}

/** Returns what the work gives; notes its fault otherwise, and returns what stands in. */
async function noted<T>(place: string, faults: string[], instead: T, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isOver = !(error instanceof AgentError) && error instanceof Error && error.name === 'AbortError';
    faults.push(
      `${place}: ${isOver ? 'the time was over before all of it was searched' : printable(messageOf(error))}`,
    );
    return instead;
  }
}

function chipId(bus: number, address: number): string {
  return `i2c-${bus}-${addressInWords(address)}`;
}

function chipPlace(bus: number, address: number): string {
  return `I2C bus ${bus}, address ${addressInWords(address)}`;
}

function usedSighting(id: string, place: string, user: SensorConfig | ActuatorConfig): Sighting {
  const { name, kind } = user;
  return { id, place, what: isSensor(user) ? kindText(user.kind, sensorKeys(user)) : kind, usedBy: name };
}

function isSensor(user: SensorConfig | ActuatorConfig): user is SensorConfig {
  return 'periodMs' in user;
}

function chipSighting(chip: FoundChip): Sighting {
  const { bus, address, guess } = chip;
  const [id, place] = [chipId(bus, address), chipPlace(bus, address)];
  if (guess === undefined) return { id, place, what: 'an unknown chip' };
  const { kind, isCertain } = guess;
  const what = isCertain ? kindText(kind) : `probably ${kindText(kind)}`;
  const section = (names: FreeNames): JsonObject | undefined => chipSection(chip, names, { hasKeys: true });
  // A driver sets its chip up: what is only likely is not written to.
  return { id, place, what, section, isReadable: isCertain };
}

function heardSightings(port: HeardPort): readonly Sighting[] {
  const { path, maker, guesses = [], heard } = port;
  const place = printable(maker === undefined ? path : `${path} (${maker})`);
  if (heard?.settings !== undefined) return [{ id: `serial-${path}`, place, what: heard.what }];
  return guesses.map((guess) => ({
    id: `serial-${path}-${guess.name}`,
    place,
    what: `${guess.name}: ${printable(guess.keys.join(', '))}`,
    section: (names) => guessSection(port, guess, { names, isDevice: false }),
  }));
}

function unitSighting(unit: FoundUnit, { path, stablePath = path }: SerialDescription): Sighting {
  const { connection, unitId, identity, models } = unit;
  const told = printable([identity.maker, identity.product].filter((part) => part !== undefined).join(' '));
  const [best] = models;
  const what = best?.device ?? (told === '' ? 'an unknown Modbus device' : `unknown here, tells "${told}"`);
  const speed = 'baudRate' in connection ? `, ${connection.baudRate} baud` : '';
  return {
    id: `modbus-${path}-${unitId}`,
    place: `${path}${speed}, unit ${unitId}`,
    what: best === undefined || best.isCertain ? what : `probably ${what}`,
    isReadable: true,
    section: (names) =>
      unitSection({ ...unit, connection: { ...connection, port: stablePath } as ModbusConnection }, names),
  };
}

/** `BME280: temperature, pressure, humidity`; chips are written as on their sheets. */
function kindText(kind: SensorKind, keys: readonly string[] = Object.keys(definitionOf(kind).units ?? {})): string {
  const { scan, oneWireFamily } = definitionOf(kind);
  const name = scan === undefined && oneWireFamily === undefined ? kind : kind.toUpperCase().replace(/X$/, 'x');
  return keys.length === 0 ? name : `${name}: ${printable(keys.join(', '))}`;
}

/** Returns a section as the configuration understands it, with its preset or model; undefined where it does not. */
async function parsedSensor(section: JsonObject, configFile: string): Promise<SensorConfig | undefined> {
  const preset = await withPresets({ sensors: [section] }, configFile);
  const { root } = await withModels(preset.root, configFile);
  return sensorSchema.safeParse((root.sensors as readonly unknown[])[0]).data;
}
