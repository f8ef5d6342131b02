/**
 * Changes of a configuration that nobody makes from afar: what guards people and machines only ever becomes tighter, and the way to the platform,
 * programs and outputs change where the file in place allows it. Pure and without I/O: the agent and root's helper both run it. What it does not
 * understand is refused (PATCH.md).
 *
 * With `outputs` in `allow` an output may go, and its limits, interlocks and protecting rules with it; one that stays keeps them.
 */
import { parseDuration, parseSize } from '../config/fields/quantity.ts';
import { configSchema, type RemoteAllowance } from '../config/schema/agent-config.ts';
import { bare, memberSchema, visitFields } from '../config/schema/schema-walk.ts';
import { isMapping } from '../config/template-words.ts';
import { SENSOR_KINDS } from '../kinds/sensor-kinds.ts';
import { type MemberPath, memberPathText } from './member-path.ts';
import {
  type Difference,
  type Items,
  isSame,
  itemsByName,
  nameOf,
  ownMember,
  parsed,
  type Schema,
  type Tree,
  treeDifferences,
} from './tree-differences.ts';

export interface LockedChange {
  /** `actuators.pump.limits.maxOn`. */
  readonly path: string;
  /** Why it is refused, without a value of the file. */
  readonly words: string;
}

/** More than anybody mends before sending again. */
const MAX_CHANGES = 100;

const ON_SITE = 'is changed on site alone';
const TIGHTER = 'only becomes tighter from afar';
const NOT_UNDERSTOOD = 'is not understood, and so not changed from afar';
const NEEDS: Readonly<Record<RemoteAllowance, string>> = {
  platform: 'needs platform in remoteConfiguration.allow, which is changed on site alone',
  programs: 'needs programs in remoteConfiguration.allow, which is changed on site alone',
  outputs: 'needs outputs in remoteConfiguration.allow, which is changed on site alone',
};

/** Sections that change nothing of what is guarded here. */
const FREE_SECTIONS: ReadonlySet<unknown> = new Set(['label', 'log', 'time', 'shutdown', 'outbox', 'upload']);
/** Members of `firmware` that say when and how fast, and not what is installed. */
const FREE_OF_FIRMWARE: ReadonlySet<unknown> = new Set(['chunk', 'rateLimit', 'hours', 'downloadDeadline']);
/** Members of an output that only show it. */
const FREE_OF_OUTPUT: ReadonlySet<unknown> = new Set(['label', 'class', 'telemetry']);
/** Members of an output that say what it does when nobody is in charge, and who is. */
const SAFETY_OF_OUTPUT: ReadonlySet<unknown> = new Set(['safe', 'restore', 'operatorUntil']);
/** Members of a program's sensor that do not say what runs. */
const BESIDE_PROGRAM: ReadonlySet<unknown> = new Set([
  'label',
  'class',
  'device',
  'period',
  'deadline',
  'align',
  'window',
  'prefix',
  'keys',
]);
/** Members of a sensor that do not change the value by which a protecting rule goes; each but `label` and `class` can be set live as well. */
const BESIDE_VALUE: ReadonlySet<unknown> = new Set(['label', 'class', 'enabled', 'period', 'deadline']);
const BESIDE_VALUE_OF_KEY: ReadonlySet<unknown> = new Set([
  'label',
  'class',
  'unit',
  'deadband',
  'minInterval',
  'maxInterval',
  'report',
  'alarms',
]);
const PROGRAM_KINDS: ReadonlySet<unknown> = new Set(['command', 'module', 'process']);
/** Kinds of outputs that run nothing; any other may, also one that the environment names. */
const QUIET_OUTPUTS: ReadonlySet<unknown> = new Set(['gpio-output', 'pwm', 'modbus-write', 'serial-write']);
const KNOWN_KINDS: ReadonlySet<unknown> = new Set(SENSOR_KINDS.map(({ kind }) => kind));

/** The way in which a limit becomes tighter, and its reader. */
const LIMITS: Readonly<Record<string, readonly ['higher' | 'lower', (value: unknown) => number | undefined]>> = {
  min: ['higher', numberOf],
  max: ['lower', numberOf],
  minOn: ['higher', durationOf],
  minOff: ['higher', durationOf],
  maxOn: ['lower', durationOf],
  maxSwitchesPerHour: ['lower', numberOf],
};

/** Every change that is refused, against the file in place, whose `remoteConfiguration.allow` counts; none is told twice. */
export function lockedChanges(before: Tree, after: Tree): readonly LockedChange[] {
  const context: Context = { before, after, allow: allowedBy(before) };
  const differences = treeDifferences(before, after);
  const found = [
    ...differences.flatMap((one) => judge(one, context)),
    ...programs(context),
    ...interlocks(context),
    ...protectingRules(differences, context),
    ...protectingSensors(differences, context),
    ...handlers(context),
    ...newSecrets(context),
    ...newVariables(context),
  ];
  const byPath = new Map(found.toReversed().map((one) => [one.path, one]));
  return [...byPath.values()].toReversed().slice(0, MAX_CHANGES);
}

interface Context {
  readonly before: Tree;
  readonly after: Tree;
  readonly allow: ReadonlySet<RemoteAllowance>;
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

/** By the section in which a difference stands. */
function judge(one: Difference, context: Context): LockedChange[] {
  const { path } = one;
  const [section, name] = path;
  if (FREE_SECTIONS.has(section)) return [];
  switch (section) {
    case 'platform':
    case 'provisioning':
      return unless('platform', context, path);
    case 'link':
      return isTighterLink(one) ? [] : unless('platform', context, path);
    case 'status':
      return name === 'telemetryPeriod' ? [] : refused(path, ON_SITE);
    case 'attributes':
      return name !== 'liveSettings' || one.after === false ? [] : refused(path, ON_SITE);
    case 'firmware':
      if (name === 'handlers') return unless('programs', context, path);
      return FREE_OF_FIRMWARE.has(name) ? [] : refused(path, ON_SITE);
    case 'devices':
      return judgeDevice(one, context);
    case 'actuators':
      return judgeOutput(one, context);
    case 'sensors':
    case 'rules':
      // A list whose items cannot be told apart by name; what they are is looked at below.
      return name === undefined && one.isOrder !== true ? refused(path, NOT_UNDERSTOOD) : [];
    default:
      return refused(path, ON_SITE);
  }
}

/** Less a month or a day, never more; what the budget leaves out is no loosening. */
function isTighterLink({ path: [, name], before, after }: Difference): boolean {
  if (name === 'wake') return true;
  if (name === 'metered') return after === true;
  if (name === 'firmware') return after === 'wait' || (after === undefined && before !== 'wait');
  if (name !== 'monthly' && name !== 'daily') return false;
  const [was, is] = [sizeOf(before), sizeOf(after)];
  return is !== undefined && (before === undefined || (was !== undefined && is <= was));
}

function judgeDevice({ path, after, isOrder }: Difference, context: Context): LockedChange[] {
  const [, name, member] = path;
  if (name === undefined) return isOrder === true ? [] : refused(path, NOT_UNDERSTOOD);
  if (member === undefined) {
    // One that is gone has no identity to lose.
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
    return limit !== undefined && isTighterLimit(String(limit), before, after) ? [] : refused(path, TIGHTER);
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

const PROGRAM_MEMBERS: ReadonlySet<unknown> = new Set(['program', 'arguments', 'readBack', 'timeout']);

function isTighterLimit(name: string, before: unknown, after: unknown): boolean {
  if (!Object.hasOwn(LIMITS, name)) return false;
  const [way, read] = LIMITS[name] as NonNullable<(typeof LIMITS)[string]>;
  const [was, is] = [read(before), read(after)];
  if (is === undefined) return false;
  if (before === undefined) return true;
  return was !== undefined && (way === 'higher' ? is >= was : is <= was);
}

function kindOf({ after }: Context, name: string | number): unknown {
  const output = namedIn(after, 'actuators').get(String(name));
  return output === undefined ? undefined : ownMember(output, 'kind');
}

/** Sensors that run a program, or ask a host that none asked before. */
function programs(context: Context): LockedChange[] {
  const { before, after } = context;
  const [earlier, later] = [namedIn(before, 'sensors'), namedIn(after, 'sensors')];
  const known = new Set([...earlier.values()].flatMap(hostsOf));
  return [...later].flatMap(([name, sensor]) => {
    const path = ['sensors', name];
    const was = earlier.get(name);
    const kind = ownMember(sensor, 'kind');
    if (kind === 'http')
      return hostsOf(sensor).every((host) => known.has(host)) ? [] : unless('programs', context, [...path, 'url']);
    if (!PROGRAM_KINDS.has(kind)) {
      // A kind that comes from the environment, or that nobody knows, may be a program.
      const isKnown = KNOWN_KINDS.has(kind) || (was !== undefined && ownMember(was, 'kind') === kind);
      return isKnown ? [] : unless('programs', context, [...path, 'kind']);
    }
    if (was === undefined || ownMember(was, 'kind') !== kind) return unless('programs', context, path);
    return changedMembers(was, sensor, path).flatMap((one) => {
      const [, , member] = one.path;
      const isSwitchedOff = member === 'enabled' && one.after === false;
      return BESIDE_PROGRAM.has(member) || isSwitchedOff ? [] : unless('programs', context, one.path);
    });
  });
}

/** Scheme, host and port that an http sensor asks, and whether it believes any certificate there; a text that is no address is one of its own. */
function hostsOf(sensor: Tree): string[] {
  if (ownMember(sensor, 'kind') !== 'http') return [];
  const url = String(ownMember(sensor, 'url'));
  const origin = !url.includes('${') && URL.canParse(url) ? new URL(url).origin : url;
  return [origin, ...(ownMember(sensor, 'insecure') === true ? [`${origin} insecure`] : [])];
}

/** Pairs that exclude each other, whichever of the two says so, with the time between them. */
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
    const [before, after] = [old && ownMember(old, 'interlocks'), ownMember(output, 'interlocks')];
    const schema = undefined;
    return isSame({ before, after, schemaBefore: schema, schemaAfter: schema })
      ? []
      : refused(['actuators', name, 'interlocks'], NOT_UNDERSTOOD);
  });
  return [...lost, ...unread];
}

function gapsBetween(outputs: Items): {
  readonly gaps: ReadonlyMap<string, number>;
  /** Outputs with something else than interlocks among theirs. */
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

/** A protecting rule stays as it is, and before those of the same output that came later: the first that speaks wins. */
function protectingRules(differences: readonly Difference[], context: Context): LockedChange[] {
  const [earlier, later] = [namedIn(context.before, 'rules'), namedIn(context.after, 'rules')];
  const outputs = namedIn(context.after, 'actuators');
  const isFree = (rule: Tree): boolean => context.allow.has('outputs') && !outputs.has(outputOf(rule));
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
  const before = [...later].flatMap(([name, rule], at) => {
    if (names.has(name) || !isProtecting(rule)) return [];
    const isFirst = kept.some(([other, one]) => outputOf(one) === outputOf(rule) && order.indexOf(other) > at);
    return isFirst ? refused(['rules', name], 'stands before a rule that protects the same output: put it behind') : [];
  });
  return [
    ...changed,
    ...(moved ? refused(['rules'], `the order of the rules that protect ${ON_SITE}`) : []),
    ...before,
  ];
}

/** Anything but absent and false may be true by the environment. */
function isProtecting(rule: Tree): boolean {
  const protect = ownMember(rule, 'protect');
  return protect !== undefined && protect !== false;
}

function outputOf(rule: Tree): string {
  const set = ownMember(rule, 'set');
  return String(isMapping(set) ? ownMember(set, 'actuator') : undefined);
}

/** The condition of a protecting rule is of a value: what makes that value stays as well. */
function protectingSensors(differences: readonly Difference[], context: Context): LockedChange[] {
  const sensors = namedIn(context.before, 'sensors');
  const rules = [...namedIn(context.before, 'rules').values()].filter(isProtecting);
  const read = new Set(rules.flatMap((rule) => sensorsOf(rule)));
  // The keys that an expression names are those of any sensor.
  const isAny = [...read].some((name) => {
    const sensor = sensors.get(name);
    return sensor !== undefined && ownMember(sensor, 'kind') === 'derived';
  });
  return differences.flatMap(({ path }) => {
    const [section, name, member, key, word] = path;
    if (section !== 'sensors' || !sensors.has(String(name)) || !(isAny || read.has(String(name)))) return [];
    const isBeside = BESIDE_VALUE.has(member) || (member === 'keys' && BESIDE_VALUE_OF_KEY.has(word));
    return isBeside && (member !== 'keys' || key !== undefined)
      ? []
      : refused(path, `a rule that protects goes by this sensor: it ${ON_SITE}`);
  });
}

/** Every `sensor:` in a rule's condition and curve. */
function sensorsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(sensorsOf);
  if (!isMapping(value)) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    key === 'sensor' && typeof member === 'string' ? [member] : sensorsOf(member),
  );
}

/** A handler never comes to take what is not signed or has no checksum. */
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

/** A secret is named from afar, by its file, credential or variable, and never told. */
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

/** With the names of items in place of their numbers. */
function namedPath(tree: unknown, path: MemberPath): MemberPath {
  let here = tree;
  return path.map((part) => {
    here = isMapping(here) || Array.isArray(here) ? (here as Tree)[part] : undefined;
    return typeof part === 'number' ? (nameOf(here) ?? part) : part;
  });
}

/** A variable of the environment may be a secret: where it would be shown or sent it is named on site. */
function newVariables({ before, after }: Context): LockedChange[] {
  const known = new Set(variablesIn(before, configSchema, []).map(({ name }) => name));
  const found = variablesIn(after, configSchema, []).filter(({ name }) => !known.has(name));
  return found.flatMap(({ path }) =>
    refused(namedPath(after, path), 'names a variable of the environment, which may be a secret: that is done on site'),
  );
}

/** `$${` is kept as `${`. */
const REFERENCE = /\$?\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Variables that are named anywhere but in the place of a secret. */
function variablesIn(
  value: unknown,
  schema: Schema,
  path: MemberPath,
): { readonly name: string; readonly path: MemberPath }[] {
  if (schema !== undefined && bare(schema).meta.secret === true) return [];
  if (typeof value === 'string')
    return [...value.matchAll(REFERENCE)].flatMap(([whole, name = '']) =>
      whole.startsWith('$$') ? [] : [{ name, path }],
    );
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
    path: [...path, ...one.path.slice(2)],
    before: one.before,
    after: one.after,
    schemaBefore: one.schemaBefore,
    schemaAfter: one.schemaAfter,
  }));
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function durationOf(value: unknown): number | undefined {
  return typeof value === 'string' ? parseDuration(value) : undefined;
}

function sizeOf(value: unknown): number | undefined {
  return typeof value === 'string' ? parseSize(value) : undefined;
}

/** With its default where none is written. */
function effectiveMs(schema: Schema, value: unknown): number | undefined {
  const read = parsed(schema, value)?.value;
  return isMapping(read) && typeof read.amount === 'number' ? read.amount : undefined;
}
