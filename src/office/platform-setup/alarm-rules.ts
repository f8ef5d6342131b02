/**
 * Alarm rules as the platform has them since 4.3: calculated fields of type ALARM at the profile, one for each key, as one waits for all keys it
 * names ("no contact" waits on purpose: for the first activity, and for the first time that it ended). `<key>_alarm` is a text: "ok", "removed", or the names of the alarms that are on; `<sensor>_state` begins with "failing" where it fails.
 */
import { keyRulesOf, platformKeysOf, sensorKeys } from '../../config/keys/sensor-keys.ts';
import type { AgentConfig } from '../../config/schema/agent-config.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../values/json.ts';
import type { Labels } from './labels.ts';

type Severity = 'CRITICAL' | 'MAJOR' | 'MINOR' | 'WARNING';
type Test = readonly [operation: string, value: string | number | boolean];

interface Rule {
  readonly name: string;
  readonly key: string;
  /** An attribute of the platform's own, in place of telemetry. */
  readonly isAttribute?: true;
  /** Further attributes of the platform's own that are to be above 0 for it to be raised. It says nothing while one is missing. */
  readonly positive?: readonly string[];
  readonly severity: Severity;
  /** All of these raise it. */
  readonly raise: readonly Test[];
  /** Any of these ends it. */
  readonly clear: readonly Test[];
}

/** As many as one page of a person's attention takes; past it, rules are made by hand for what matters. */
const MAX_RULES = 200;

const FIXED: readonly Rule[] = [
  {
    name: 'Turnstone: no contact',
    key: 'active',
    isAttribute: true,
    // A device is inactive from its creation until its first activity: contact that never was is not lost.
    positive: ['lastActivityTime', 'inactivityAlarmTime'],
    severity: 'MAJOR',
    raise: [['EQUAL', false]],
    clear: [['EQUAL', true]],
  },
  {
    name: 'Turnstone: update failed',
    key: 'fw_state',
    severity: 'MAJOR',
    raise: [['EQUAL', 'FAILED']],
    clear: [['NOT_EQUAL', 'FAILED']],
  },
  {
    name: 'Turnstone: disk refuses readings',
    key: 'outboxFault',
    severity: 'CRITICAL',
    raise: [['EQUAL', 1]],
    clear: [['EQUAL', 0]],
  },
  { name: 'Turnstone: alerts', key: 'alerts', severity: 'WARNING', raise: [['GREATER', 0]], clear: [['EQUAL', 0]] },
];
/** Updates tell of themselves under names like those of sensors. */
const NO_SENSOR = new Set(['fw_state', 'sw_state']);
/** Numbers of the agent itself that end with a name: of a lane, an output, an attached device. `outboxLaneEntries_alarm` is no alarm. */
const NUMBER_OF_AGENT = /^(outboxLaneEntries|sensorUp|actuatorUp|device[A-Z][a-zA-Z]+)_/;

/** Rules for every gateway, and for these keys of sensors and alarms. @param labels by key; a key without one gives its own name to the rule. */
export function alarmRules(keys: Iterable<string>, labels: Labels = new Map()): readonly JsonObject[] {
  const own = [...new Set(keys)].sort().flatMap((key) => ruleFor(key, labels.get(key)) ?? []);
  return withNames([...FIXED, ...own].slice(0, MAX_RULES)).map(ruleJson);
}

/** Returns the name that a rule has without a label; undefined of one that is about no key of a sensor or an alarm. */
export function plainRuleName({ configuration }: JsonObject): string | undefined {
  const key = keyIn(configuration);
  return key === undefined ? undefined : ruleFor(key)?.name;
}

/** Returns the key that a rule at the platform is about; undefined where it has no value, or is of another form. */
function keyIn(configuration: JsonValue | undefined): string | undefined {
  const given = isJsonObject(configuration) ? configuration.arguments : undefined;
  const value = isJsonObject(given) ? given.value : undefined;
  const entity = isJsonObject(value) ? value.refEntityKey : undefined;
  return isJsonObject(entity) && typeof entity.key === 'string' ? entity.key : undefined;
}

/** Two rules of one name are one at the platform: where a label is given twice, the key tells them apart. */
function withNames(rules: readonly Rule[]): readonly Rule[] {
  const count = (name: string): number => rules.filter((one) => one.name === name).length;
  return rules.map((rule) => (count(rule.name) === 1 ? rule : { ...rule, name: `${rule.name} (${rule.key})` }));
}

/** The keys of states and alarms that a gateway with this configuration sends of itself. */
export function alarmKeysIn(config: AgentConfig): readonly string[] {
  const sensors = config.sensors.filter(({ enabled, device }) => enabled && device === undefined);
  return sensors.flatMap((sensor) => {
    const watched = (sensorKeys(sensor) ?? []).filter((key) => (keyRulesOf(sensor, key)?.alarms ?? []).length > 0);
    return [
      `${sensor.name}_state`,
      ...watched.flatMap((key) => platformKeysOf(sensor, key)).map((key) => `${key}_alarm`),
    ];
  });
}

function ruleFor(key: string, label?: string): Rule | undefined {
  if (NUMBER_OF_AGENT.test(key)) return undefined;
  if (key.endsWith('_alarm')) {
    const raise: readonly Test[] = [
      ['NOT_EQUAL', 'ok'],
      ['NOT_EQUAL', 'removed'],
    ];
    const clear: readonly Test[] = [
      ['EQUAL', 'ok'],
      ['EQUAL', 'removed'],
    ];
    return { name: `Alarm: ${label ?? key.slice(0, -'_alarm'.length)}`, key, severity: 'MAJOR', raise, clear };
  }
  if (!key.endsWith('_state') || NO_SENSOR.has(key)) return undefined;
  const name = `Sensor fails: ${label ?? key.slice(0, -'_state'.length)}`;
  return { name, key, severity: 'MINOR', raise: [['STARTS_WITH', 'failing']], clear: [['NOT_CONTAINS', 'failing']] };
}

function ruleJson({ name, key, isAttribute, positive = [], severity, raise, clear }: Rule): JsonObject {
  const ofServer = (attribute: string): JsonObject => ({ key: attribute, type: 'ATTRIBUTE', scope: 'SERVER_SCOPE' });
  const refEntityKey = isAttribute === true ? ofServer(key) : { key, type: 'TS_LATEST' };
  const further = positive.map((attribute) => [attribute, { refEntityKey: ofServer(attribute), defaultValue: '' }]);
  const raised = [filter('value', 'AND', raise), ...positive.map((one) => filter(one, 'AND', [['GREATER', 0]]))];
  return {
    type: 'ALARM',
    name,
    configurationVersion: 0,
    debugSettings: null,
    configuration: {
      type: 'ALARM',
      arguments: { value: { refEntityKey, defaultValue: '' }, ...Object.fromEntries(further) },
      createRules: { [severity]: { condition: condition(raised), alarmDetails: null, dashboardId: null } },
      clearRule: { condition: condition([filter('value', 'OR', clear)]), alarmDetails: null, dashboardId: null },
      propagate: false,
      propagateToOwner: false,
      propagateToTenant: false,
      propagateRelationTypes: [],
    },
  };
}

function condition(filters: readonly JsonObject[]): JsonObject {
  return { type: 'SIMPLE', expression: { type: 'SIMPLE', filters, operation: 'AND' }, schedule: null };
}

function filter(argument: string, operation: 'AND' | 'OR', tests: readonly Test[]): JsonObject {
  return { argument, valueType: typeOf(tests[0]?.[1]), operation, predicates: tests.map(predicate) };
}

function predicate([operation, value]: Test): JsonObject {
  const type = typeOf(value);
  const held = { staticValue: value, dynamicValueArgument: null };
  return { type, operation, value: held, ...(type === 'STRING' && { ignoreCase: false }) };
}

function typeOf(value: unknown): 'BOOLEAN' | 'NUMERIC' | 'STRING' {
  if (typeof value === 'boolean') return 'BOOLEAN';
  return typeof value === 'number' ? 'NUMERIC' : 'STRING';
}
