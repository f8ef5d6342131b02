/**
 * Finds the changes of a configuration that are refused from afar. Limits, interlocks and protecting rules only become tighter. The platform,
 * programs and outputs change where `remoteConfiguration.allow` of the file in place names them. A change that is not understood is refused
 * (PATCH.md). Pure and without I/O: the agent and root's helper both run it.
 *
 * With `outputs` in `allow` an output may be removed together with its limits, interlocks and protecting rules; an output that stays keeps them.
 */
import { isDeepStrictEqual } from 'node:util';
import { OWN_CLIENT_KEYS } from '../config/checks/keys.ts';
import { parseDuration } from '../config/fields/quantity.ts';
import { configSchema, type RemoteAllowance } from '../config/schema/agent-config.ts';
import { bare, memberSchema, visitFields } from '../config/schema/schema-walk.ts';
import { isMapping } from '../config/template-words.ts';
import { SENSOR_KINDS } from '../kinds/sensor-kinds.ts';
import { type MemberPath, memberPathText, parseMemberPath } from './member-path.ts';
import {
  type Difference,
  type Items,
  itemsByName,
  nameOf,
  ownMember,
  parsed,
  type Schema,
  type Tree,
  toldPath,
  treeDifferences,
} from './tree-differences.ts';

export interface LockedChange {
  /** `actuators.pump.limits.maxOn`. */
  readonly path: string;
  /** Why it is refused, without a value of the file. */
  readonly words: string;
}

/** Locked changes that are told: nobody mends more before the next attempt. */
const MAX_CHANGES = 100;

const ON_SITE = 'is changed on site alone';
const TIGHTER = 'only becomes tighter from afar';
const NOT_UNDERSTOOD = 'is not understood, and so not changed from afar';
const GUARDED = `a rule that protects sets this output: it ${ON_SITE}`;
const NEEDS: Readonly<Record<RemoteAllowance, string>> = {
  platform: 'needs platform in remoteConfiguration.allow, which is changed on site alone',
  programs: 'needs programs in remoteConfiguration.allow, which is changed on site alone',
  outputs: 'needs outputs in remoteConfiguration.allow, which is changed on site alone',
};

/** Returns the entries of `remoteConfiguration.allow` without which these changes are locked. */
export function neededAllowances(locked: readonly LockedChange[]): readonly RemoteAllowance[] {
  return (Object.keys(NEEDS) as RemoteAllowance[]).filter((one) => locked.some(({ words }) => words === NEEDS[one]));
}

/** Sections without an effect on people, machines or the way to the platform. */
const FREE_SECTIONS: ReadonlySet<unknown> = new Set(['label', 'log', 'shutdown', 'outbox', 'upload']);
/** Members of `firmware` that set the time and the rate of downloads; none of them chooses what is installed. */
const FREE_OF_FIRMWARE: ReadonlySet<unknown> = new Set(['chunk', 'rateLimit', 'hours', 'downloadDeadline']);
/** Members of an output that only affect how it is shown. */
const FREE_OF_OUTPUT: ReadonlySet<unknown> = new Set(['label', 'class', 'telemetry']);
/** Members of an output that set its safe states, and whether and how long an operator's value holds. */
const SAFETY_OF_OUTPUT: ReadonlySet<unknown> = new Set(['safe', 'restore', 'operatorUntil']);
/** Members of a sensor that change without `programs` in `allow`, even where it writes, runs a program or connects to a host. */
const BESIDE_REACH: ReadonlySet<unknown> = new Set([
  'label',
  'class',
  'enabled',
  'period',
  'deadline',
  'window',
  'keys',
]);
const PROGRAM_KINDS: ReadonlySet<unknown> = new Set(['command', 'module', 'process']);
/** Kinds that only listen or read. On a port or connection a kind counts only where that is serial, or leads to a host of the file in place. */
const READING_KINDS: ReadonlySet<unknown> = new Set([
  'gpio-input',
  'gpio-counter',
  'gpio-frequency',
  'bme280',
  'bmp280',
  'sht3x',
  'tmp102',
  'lm75',
  'mcp9808',
  'ads1115',
  'ina219',
  'bh1750',
  'ds18b20',
  'iio',
  'hwmon',
  'serial-line',
  'nmea',
  'sml',
  'dlms',
  'iec62056',
  'mbus',
  'pylontech',
  'modbus',
  'sunspec',
  'mqtt',
  'host',
  'derived',
]);
/** Options that make a `serial-line` sensor send requests, and the preset that may bring them. */
const ASKING: readonly string[] = ['request', 'requestHex', 'preset', 'before', 'after'];
/** Client attributes that the agent sends itself: a fixed attribute of the same key would replace them. */
const TOLD_BY_AGENT: ReadonlySet<unknown> = new Set(OWN_CLIENT_KEYS);
/** Kinds of outputs that run no program. Any other kind may run one, and so may a kind that a variable of the environment names. */
const QUIET_OUTPUTS: ReadonlySet<unknown> = new Set(['gpio-output', 'pwm', 'modbus-write', 'serial-write', 'mqtt']);
const KNOWN_KINDS: ReadonlySet<unknown> = new Set(SENSOR_KINDS.map(({ kind }) => kind));

const DEVICE_SERVER = /^(?:tcp|rfc2217):\/\//;
/** Port of a Modbus TCP connection without `port`. */
const MODBUS_TCP_PORT = 502;
/** Shortest `maxOn`: with less the output could not do its work. */
const MIN_MAX_ON_MS = 1_000;

/** Direction in which each limit becomes tighter, and the function that reads it. */
const LIMITS: Readonly<Record<string, readonly ['higher' | 'lower', (value: unknown) => number | undefined]>> = {
  min: ['higher', numberOf],
  max: ['lower', numberOf],
  minOn: ['higher', durationOf],
  minOff: ['higher', durationOf],
  maxOn: ['lower', durationOf],
  maxSwitchesPerHour: ['lower', numberOf],
};

/** Returns every change that is refused, each path once. The `remoteConfiguration.allow` of the file in place decides. */
export function lockedChanges(before: Tree, after: Tree): readonly LockedChange[] {
  const context: Context = { before, after, allow: allowedBy(before), guards: guardsIn(before) };
  const differences = treeDifferences(before, after);
  const found = [
    ...differences.flatMap((one) => judge(one, context)),
    ...reachingSensors(context),
    ...interlocks(context),
    ...protectingRules(differences, context),
    ...guardedSensors(differences, context),
    ...guardedOutputs(differences, context),
    ...handlers(context),
    ...newSecrets(context),
    ...newVariables(context),
  ];
  const byPath = new Map(found.toReversed().map((one) => [one.path, one]));
  const told = (path: string): string => {
    const parts = parseMemberPath(path);
    return parts === undefined ? path : toldPath(parts, before, after);
  };
  return [...byPath.values()]
    .toReversed()
    .slice(0, MAX_CHANGES)
    .map(({ path, words }) => ({ path: told(path), words }));
}

interface Context {
  readonly before: Tree;
  readonly after: Tree;
  readonly allow: ReadonlySet<RemoteAllowance>;
  readonly guards: Guards;
}

function allowedBy(before: Tree): ReadonlySet<RemoteAllowance> {
  const section = ownMember(before, 'remoteConfiguration');
  const read = parsed(memberSchema(configSchema, before, 'remoteConfiguration'), section)?.value;
  return new Set((read as { readonly allow?: readonly RemoteAllowance[] } | undefined)?.allow);
}

function refused(path: MemberPath, words: string): LockedChange[] {
  return [{ path: memberPathText(path), words }];
}

function unless(allowance: RemoteAllowance, { allow }: Context, path: MemberPath): LockedChange[] {
  return allow.has(allowance) ? [] : refused(path, NEEDS[allowance]);
}

/** Judges a difference by its section. */
function judge(one: Difference, context: Context): LockedChange[] {
  const { path } = one;
  const [section, name] = path;
  if (FREE_SECTIONS.has(section)) return [];
  // A rule with hours needs a right clock.
  if (section === 'time') return context.guards.any ? refused(path, ON_SITE) : [];
  switch (section) {
    case 'platform':
    case 'provisioning':
    case 'link':
      return unless('platform', context, path);
    case 'status':
      return name === 'telemetryPeriod' ? [] : refused(path, ON_SITE);
    case 'attributes':
      return isFreeAttribute(one) ? [] : refused(path, ON_SITE);
    case 'firmware':
      if (name === 'handlers') return unless('programs', context, path);
      return FREE_OF_FIRMWARE.has(name) ? [] : refused(path, ON_SITE);
    case 'devices':
      return judgeDevice(one, context);
    case 'actuators':
      return judgeOutput(one, context);
    case 'sensors':
    case 'rules':
      // A list whose items have no unique names is refused; named items are judged below, by `reachingSensors` and those after it.
      return name === undefined && one.isOrder !== true ? refused(path, NOT_UNDERSTOOD) : [];
    default:
      return refused(path, ON_SITE);
  }
}

/** True for a fixed attribute whose key the agent does not send itself, and where live settings are switched off. */
function isFreeAttribute({ path: [, name, key], after }: Difference): boolean {
  if (name === 'liveSettings') return after === false;
  if (name === 'client') return key !== undefined && !TOLD_BY_AGENT.has(key);
  return name !== undefined;
}

function judgeDevice({ path, after, isOrder }: Difference, context: Context): LockedChange[] {
  const [, name, member] = path;
  if (name === undefined) return isOrder === true ? [] : refused(path, NOT_UNDERSTOOD);
  if (member === undefined) {
    // A removed device has no token that could change.
    if (!isMapping(after)) return [];
    return Object.keys(after).flatMap((key) => judgeDeviceMember([...path, key], key, context));
  }
  return judgeDeviceMember(path, member, context);
}

function judgeDeviceMember(path: MemberPath, member: string | number, context: Context): LockedChange[] {
  if (member === 'firmware') return unless('programs', context, path);
  return /^(accessToken|provisioning)/.test(String(member)) ? unless('platform', context, path) : [];
}

function judgeOutput(one: Difference, context: Context): LockedChange[] {
  const { path, before, after, isOrder } = one;
  const [, name, member, limit] = path;
  if (name === undefined) return isOrder === true ? [] : refused(path, NOT_UNDERSTOOD);
  if (member === undefined) {
    const kind = isMapping(after) ? ownMember(after, 'kind') : undefined;
    const mayRun = isMapping(after) && !QUIET_OUTPUTS.has(kind);
    return [...unless('outputs', context, path), ...(mayRun ? unless('programs', context, path) : [])];
  }
  if (FREE_OF_OUTPUT.has(member) || member === 'interlocks') return [];
  if (SAFETY_OF_OUTPUT.has(member)) return refused(path, ON_SITE);
  if (member === 'limits')
    return limit !== undefined &&
      isTighterLimit(String(limit), before, after) &&
      isUsableLimit(limit, limitsOf(context.after, name))
      ? []
      : refused(path, TIGHTER);
  if (member === 'maxPulse' && kindOf(context, name) === 'gpio-output') {
    const [was, is] = [effectiveMs(one.schemaBefore, before), effectiveMs(one.schemaAfter, after)];
    return was !== undefined && is !== undefined && is <= was ? [] : refused(path, TIGHTER);
  }
  const isProgram = !QUIET_OUTPUTS.has(kindOf(context, name));
  return [
    ...(isProgram ? unless('programs', context, path) : []),
    ...(isProgram && PROGRAM_MEMBERS.has(member) ? [] : unless('outputs', context, path)),
  ];
}

const PROGRAM_MEMBERS: ReadonlySet<unknown> = new Set([
  'program',
  'arguments',
  'environment',
  'member',
  'readBack',
  'timeout',
]);

function isTighterLimit(name: string, before: unknown, after: unknown): boolean {
  if (!Object.hasOwn(LIMITS, name)) return false;
  const [way, read] = LIMITS[name] as NonNullable<(typeof LIMITS)[string]>;
  const [was, is] = [read(before), read(after)];
  if (is === undefined) return false;
  if (before === undefined) return true;
  return was !== undefined && (way === 'higher' ? is >= was : is <= was);
}

/** True for a limit under which the output still works: `min` (default 0) below `max`, and a `maxOn` of 1 s or more. */
function isUsableLimit(limit: string | number, limits: Tree): boolean {
  if (limit === 'maxOn') return (durationOf(ownMember(limits, 'maxOn')) ?? 0) >= MIN_MAX_ON_MS;
  if (limit !== 'min' && limit !== 'max') return true;
  const [min, max] = [ownMember(limits, 'min') ?? 0, ownMember(limits, 'max')].map(numberOf);
  return min !== undefined && max !== undefined && min < max;
}

function limitsOf(tree: Tree, name: string | number): Tree {
  const limits = ownMember(namedIn(tree, 'actuators').get(String(name)) ?? {}, 'limits');
  return isMapping(limits) ? limits : {};
}

function kindOf({ after }: Context, name: string | number): unknown {
  const output = namedIn(after, 'actuators').get(String(name));
  return output === undefined ? undefined : ownMember(output, 'kind');
}

/** Finds sensors that write, run a program or connect to a new host. Without `programs` none is added, and only `BESIDE_REACH` changes. */
function reachingSensors(context: Context): LockedChange[] {
  const { before, after } = context;
  const [earlier, later] = [namedIn(before, 'sensors'), namedIn(after, 'sensors')];
  const known = new Set([...earlier.values(), ...namedIn(before, 'actuators').values()].flatMap(hostsOf));
  return [...later].flatMap(([name, sensor]) => {
    const path = ['sensors', name];
    const was = earlier.get(name);
    const isReading = onlyReads(sensor, known);
    if (was === undefined) return isReading ? [] : unless('programs', context, path);
    if (isReading && onlyReads(was, known)) return [];
    const kind = ownMember(was, 'kind');
    const mayRun = PROGRAM_KINDS.has(kind) || !KNOWN_KINDS.has(kind);
    return changedMembers(was, sensor, path).flatMap((one) => {
      const [, , member] = one.path;
      const isSwitchedOn = member === 'enabled' && mayRun && one.after !== false;
      return BESIDE_REACH.has(member) && !isSwitchedOn ? [] : unless('programs', context, one.path);
    });
  });
}

/** @param known hosts that the file in place names. */
function onlyReads(sensor: Tree, known: ReadonlySet<string>): boolean {
  const kind = ownMember(sensor, 'kind');
  if (!READING_KINDS.has(kind)) return false;
  const [port, connection] = [ownMember(sensor, 'port'), ownMember(sensor, 'connection')];
  // A line that `on` names may carry outputs, too, and its port is not in the sensor.
  if ([sensor, connection].some((one) => isMapping(one) && Object.hasOwn(one, 'on'))) return false;
  if (kind === 'serial-line') return isSerialPort(port) && !ASKING.some((option) => Object.hasOwn(sensor, option));
  if (kind === 'modbus' || kind === 'sunspec') {
    if (!isMapping(connection)) return false;
    const transport = ownMember(connection, 'transport');
    if (transport === 'rtu' || transport === 'ascii') return isSerialPort(ownMember(connection, 'port'));
    return isKnownHost(sensor, known);
  }
  return port === undefined || isSerialPort(port) || isKnownHost(sensor, known);
}

function isKnownHost(sensor: Tree, known: ReadonlySet<string>): boolean {
  const hosts = hostsOf(sensor);
  return hosts.length > 0 && hosts.every((host) => known.has(host));
}

/** True for a path below /dev; a path elsewhere, or one with `..`, may be any file. */
function isSerialPort(port: unknown): boolean {
  return typeof port === 'string' && /^\/dev\/[^$]+$/.test(port) && !port.split('/').includes('..');
}

/** Host and port of a Modbus connection, or of a device server behind a serial port. */
function hostsOf(item: Tree): string[] {
  const [port, connection] = [ownMember(item, 'port'), ownMember(item, 'connection')];
  const server = [port, isMapping(connection) ? ownMember(connection, 'port') : undefined].flatMap((one) =>
    typeof one === 'string' && DEVICE_SERVER.test(one) ? [hostText(one.replace(DEVICE_SERVER, ''))] : [],
  );
  const host = isMapping(connection) ? ownMember(connection, 'host') : undefined;
  if (!isMapping(connection) || typeof host !== 'string') return server;
  return [...server, hostText(`${host}:${ownMember(connection, 'port') ?? MODBUS_TCP_PORT}`)];
}

/** As it is compared: case and brackets of an address say nothing. */
function hostText(host: string): string {
  return host.toLowerCase().replace(/^\[(.*)\](?=:)/, '$1');
}

/**
 * Finds interlocks that are lost, have a shorter gap, cannot be read, or could keep a protecting rule from its output. An interlock holds for both
 * outputs, whichever of them names the other.
 */
function interlocks(context: Context): LockedChange[] {
  const [earlier, later] = [context.before, context.after].map((tree) => namedIn(tree, 'actuators')) as [Items, Items];
  const [was, is] = [gapsBetween(earlier), gapsBetween(later)];
  const lost = [...was.gaps].flatMap(([pair, gapMs]) => {
    const [one = '', other = ''] = pair.split(' ');
    const isGone = context.allow.has('outputs') && (!later.has(one) || !later.has(other));
    const keeps = (is.gaps.get(pair) ?? -1) >= gapMs;
    return isGone || keeps ? [] : refused(['actuators', one, 'interlocks'], `${TIGHTER}: with ${other}`);
  });
  const unread = [...later].flatMap(([name, output]) => {
    if (!is.unread.has(name) && !was.unread.has(name)) return [];
    const old = earlier.get(name);
    return isDeepStrictEqual(old && ownMember(old, 'interlocks'), ownMember(output, 'interlocks'))
      ? []
      : refused(['actuators', name, 'interlocks'], NOT_UNDERSTOOD);
  });
  const closer = [...is.gaps].flatMap(([pair, gapMs]) => {
    const guarded = pair.split(' ').find((name) => context.guards.outputs.has(name));
    return guarded === undefined || gapMs <= (was.gaps.get(pair) ?? -1)
      ? []
      : refused(['actuators', guarded, 'interlocks'], GUARDED);
  });
  return [...lost, ...unread, ...closer];
}

function gapsBetween(outputs: Items): {
  readonly gaps: ReadonlyMap<string, number>;
  /** Outputs with an interlock that cannot be read. */
  readonly unread: ReadonlySet<string>;
} {
  const gaps = new Map<string, number>();
  const unread = new Set<string>();
  for (const [name, output] of outputs) {
    const list = ownMember(output, 'interlocks') ?? [];
    for (const lock of Array.isArray(list) ? list : [undefined]) {
      const other = isMapping(lock) ? ownMember(lock, 'with') : lock;
      const gapMs = isMapping(lock) && Object.hasOwn(lock, 'gap') ? durationOf(ownMember(lock, 'gap')) : 0;
      if (typeof other !== 'string' || gapMs === undefined) unread.add(name);
      else {
        // Names have no blanks.
        const pair = [name, other].sort().join(' ');
        gaps.set(pair, Math.max(gaps.get(pair) ?? 0, gapMs));
      }
    }
  }
  return { gaps, unread };
}

/** Finds changes of protecting rules and of their places: the first rule of an output that applies wins. */
function protectingRules(differences: readonly Difference[], context: Context): LockedChange[] {
  const [earlier, later] = [namedIn(context.before, 'rules'), namedIn(context.after, 'rules')];
  const [were, are] = [context.before, context.after].map((tree) => namedIn(tree, 'actuators')) as [Items, Items];
  const isFree = (rule: Tree): boolean =>
    context.allow.has('outputs') && were.has(outputOf(rule)) && !are.has(outputOf(rule));
  const kept = [...earlier].filter(([, rule]) => isProtecting(rule) && !isFree(rule));
  const names = new Set(kept.map(([name]) => name));
  const changed = differences.flatMap(({ path }) => {
    const [section, name, member] = path;
    const isLocked = section === 'rules' && names.has(String(name)) && member !== 'label';
    return isLocked ? refused(path, `of a rule that protects ${ON_SITE}`) : [];
  });
  const order = [...later.keys()];
  const places = kept.map(([name]) => order.indexOf(name)).filter((at) => at >= 0);
  const moved = places.some((at, index) => index > 0 && at < (places[index - 1] as number));
  const added = [...later].flatMap(([name, rule], at) => {
    if (names.has(name) || !isProtecting(rule)) return [];
    const isFirst = kept.some(([other, one]) => outputOf(one) === outputOf(rule) && order.indexOf(other) > at);
    return isFirst
      ? refused(['rules', name], 'stands before a rule that protects the same output: put it behind')
      : unless('outputs', context, ['rules', name]);
  });
  return [...changed, ...(moved ? refused(['rules'], `the order of the rules that protect ${ON_SITE}`) : []), ...added];
}

/** True unless `protect` is absent or false: a variable of the environment may make any other value true. */
function isProtecting(rule: Tree): boolean {
  const protect = ownMember(rule, 'protect');
  return protect !== undefined && protect !== false;
}

function outputOf(rule: Tree): string {
  const set = ownMember(rule, 'set');
  return String(isMapping(set) ? ownMember(set, 'actuator') : undefined);
}

/** Sensors and outputs of the protecting rules of the file in place. */
interface Guards {
  readonly sensors: ReadonlySet<string>;
  /** True where a rule reads a value that any sensor may give, or a sensor whose name cannot be read. */
  readonly everySensor: boolean;
  readonly outputs: ReadonlySet<string>;
  /** Outputs of rules with a part that cannot be read. */
  readonly unread: ReadonlySet<string>;
  /** True where a rule sets an output whose name cannot be read. */
  readonly everyOutput: boolean;
  /** True where there is a protecting rule, or the rules cannot be read. */
  readonly any: boolean;
}

function guardsIn(before: Tree): Guards {
  const rules = itemsByName(ownMember(before, 'rules'));
  const sensors = namedIn(before, 'sensors');
  const actuators = namedIn(before, 'actuators');
  const read = [...(rules ?? new Map<string, Tree>()).values()].filter(isProtecting).map((rule) => {
    const output = outputOf(rule);
    return { names: sensorsOf(rule, sensors), output: isNameOf(output, actuators) ? output : undefined };
  });
  const isUnread = ({ names, output }: (typeof read)[number]): boolean =>
    output === undefined || names.includes(undefined);
  const names = new Set(read.flatMap((one) => one.names.filter((name) => name !== undefined)));
  const outputs = (some: typeof read): Set<string> => new Set(some.flatMap(({ output }) => output ?? []));
  // An expression may name keys of any sensor.
  const isDerived = [...names].some((name) => {
    const kind = ownMember(sensors.get(name) ?? {}, 'kind');
    return kind === 'derived' || !KNOWN_KINDS.has(kind);
  });
  return {
    sensors: names,
    everySensor: rules === undefined || isDerived || read.some(isUnread),
    outputs: outputs(read),
    unread: outputs(read.filter(isUnread)),
    everyOutput: rules === undefined || read.some(({ output }) => output === undefined),
    any: rules === undefined || read.length > 0,
  };
}

/** True for the name of an item that is there, without a variable in it. */
function isNameOf(name: unknown, items: Items): name is string {
  return typeof name === 'string' && !name.includes('${') && items.has(name);
}

/** Members of a rule in which conditions and sensors stand. */
const CONDITIONS: ReadonlySet<string> = new Set(['when', 'all', 'any', 'not', 'set', 'curve']);

/** Every `sensor:` in a rule's condition and curve; undefined for one that is not read. */
function sensorsOf(value: unknown, sensors: Items): (string | undefined)[] {
  if (Array.isArray(value)) return value.flatMap((one) => sensorsOf(one, sensors));
  if (!isMapping(value)) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    if (key === 'sensor') return [isNameOf(member, sensors) ? member : undefined];
    const parts: readonly unknown[] = Array.isArray(member) ? member : [member];
    return CONDITIONS.has(key) && !parts.every(isMapping) ? [undefined] : sensorsOf(member, sensors);
  });
}

/** Finds changes of sensors that a protecting rule reads: only the label changes. */
function guardedSensors(differences: readonly Difference[], { guards }: Context): LockedChange[] {
  return differences.flatMap(({ path }) => {
    const [section, name, member] = path;
    const isGuarded = section === 'sensors' && (guards.everySensor || guards.sensors.has(String(name)));
    return isGuarded && member !== 'label'
      ? refused(path, `a rule that protects goes by this sensor, or may: it ${ON_SITE}`)
      : [];
  });
}

/**
 * Finds changed limits of outputs that a protecting rule sets: a tighter limit could keep the rule from its output. Where the rule cannot be read,
 * the whole output stays.
 */
function guardedOutputs(differences: readonly Difference[], { guards }: Context): LockedChange[] {
  return differences.flatMap(({ path }) => {
    const [section, name, member] = path;
    if (section !== 'actuators' || member === 'label') return [];
    const isUnread = guards.everyOutput || guards.unread.has(String(name));
    const isLimit = member === 'limits' && guards.outputs.has(String(name));
    return isUnread || isLimit ? refused(path, GUARDED) : [];
  });
}

/** Finds handlers that would begin to take packages without a signature or a checksum. */
function handlers({ before, after }: Context): LockedChange[] {
  const [earlier, later] = [before, after].map(handlersIn) as [readonly Handler[], readonly Handler[]];
  return later.flatMap((handler, index) => {
    const same = earlier.find(({ id }) => id === handler.id);
    const [isSigned, hasChecksum] = [same?.isSigned ?? true, same?.hasChecksum ?? true];
    const path = ['firmware', 'handlers', handler.title ?? index];
    return [
      ...(isSigned && !handler.isSigned ? refused([...path, 'requireSignature'], ON_SITE) : []),
      ...(hasChecksum && !handler.hasChecksum ? refused([...path, 'allowWithoutChecksum'], ON_SITE) : []),
    ];
  });
}

interface Handler {
  readonly id: string;
  readonly title: string | undefined;
  readonly isSigned: boolean;
  readonly hasChecksum: boolean;
}

function handlersIn(tree: Tree): readonly Handler[] {
  const firmware = ownMember(tree, 'firmware');
  if (!isMapping(firmware)) return [];
  const list = ownMember(firmware, 'handlers');
  const usual = ownMember(firmware, 'requireSignature') ?? true;
  return (Array.isArray(list) ? list : []).filter(isMapping).map((handler) => ({
    id: `${ownMember(handler, 'package') ?? 'firmware'} ${ownMember(handler, 'title')}`,
    title: nameOf(handler),
    isSigned: (ownMember(handler, 'requireSignature') ?? usual) === true,
    hasChecksum: (ownMember(handler, 'allowWithoutChecksum') ?? false) === false,
  }));
}

/** Finds new secrets: from afar a secret is a reference to a file, a credential or a variable, never a value. */
function newSecrets({ before, after }: Context): LockedChange[] {
  const known = new Set(secretsIn(before).map(({ path, value }) => `${memberPathText(path)} ${value}`));
  return secretsIn(after).flatMap(({ path, value }) =>
    known.has(`${memberPathText(path)} ${value}`)
      ? []
      : refused(path, 'is a secret: from afar it comes by a variable, a file or a credential alone'),
  );
}

const REFERENCE_ALONE = /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/;

function secretsIn(tree: Tree): { readonly path: MemberPath; readonly value: unknown }[] {
  const found: { readonly path: MemberPath; readonly value: unknown }[] = [];
  visitFields(configSchema, tree, ({ meta, path, value }) => {
    if (meta.secret !== true || value === undefined || REFERENCE_ALONE.test(String(value))) return;
    found.push({ path: namedPath(tree, path), value });
  });
  return found;
}

/** Returns the path with the names of list items in place of their numbers. */
function namedPath(tree: unknown, path: MemberPath): MemberPath {
  let here = tree;
  return path.map((part) => {
    here = isMapping(here) || Array.isArray(here) ? (here as Tree)[part] : undefined;
    return typeof part === 'number' ? (nameOf(here) ?? part) : part;
  });
}

/** Finds new variables of the environment outside secret fields: a variable may hold a secret, which another field would show. */
function newVariables({ before, after }: Context): LockedChange[] {
  const placed = (tree: Tree): (readonly [place: string, path: MemberPath])[] =>
    variablesIn(tree, configSchema, []).map(({ text, path }) => {
      const named = namedPath(tree, path);
      return [`${memberPathText(named)} ${text}`, named];
    });
  const known = new Set(placed(before).map(([place]) => place));
  return placed(after).flatMap(([place, path]) =>
    known.has(place)
      ? []
      : refused(path, 'names a variable of the environment, which may be a secret: that is done on site'),
  );
}

/** `$${` is kept as `${`. */
const REFERENCE = /\$?\$\{[A-Za-z_][A-Za-z0-9_]*\}/g;

/** Texts with a variable anywhere but in the place of a secret. */
function variablesIn(
  value: unknown,
  schema: Schema,
  path: MemberPath,
): { readonly text: string; readonly path: MemberPath }[] {
  if (schema !== undefined && bare(schema).meta.secret === true) return [];
  if (typeof value === 'string')
    return [...value.matchAll(REFERENCE)].some(([whole]) => !whole.startsWith('$$')) ? [{ text: value, path }] : [];
  if (typeof value !== 'object' || value === null) return [];
  const entries: (readonly [string | number, unknown])[] = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value);
  return entries.flatMap(([key, member]) =>
    variablesIn(member, schema === undefined ? undefined : memberSchema(schema, value, key), [...path, key]),
  );
}

function namedIn(tree: Tree, section: 'sensors' | 'actuators' | 'rules'): Items {
  return itemsByName(ownMember(tree, section)) ?? new Map();
}

/** Differences of one item of `sensors`. */
function changedMembers(before: Tree, after: Tree, path: MemberPath): readonly Difference[] {
  return treeDifferences({ sensors: [before] }, { sensors: [after] }).map((one) => ({
    ...one,
    path: [...path, ...one.path.slice(2)],
  }));
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function durationOf(value: unknown): number | undefined {
  return typeof value === 'string' ? parseDuration(value) : undefined;
}

/** Returns a duration, ms, with the schema's default where none is written. */
function effectiveMs(schema: Schema, value: unknown): number | undefined {
  const read = parsed(schema, value)?.value;
  return isMapping(read) && typeof read.amount === 'number' ? read.amount : undefined;
}
