/** Events of the other rooms as sentences. Each is made of what its room tells, and of nothing that is looked up here. */
import type { RuleEvent } from '../actuators/rule-event.ts';
import type { ReadAgain } from '../config/config-file.ts';
import type { Sentence } from '../errors/sentence.ts';
import type { UpdaterStatus } from '../firmware/updater-status.ts';
import { valueWord } from '../host/value-word.ts';
import { labelled, sentence, toldAs } from '../names/sentences.ts';
import type { ContactStatus } from '../platform/contact.ts';
import type { ToldCommand } from '../rpc/told-command.ts';
import type { ToldAcknowledgement } from '../telemetry/acknowledgement.ts';
import type { ToldAlarm } from '../telemetry/alarm-change.ts';
import { isJsonObject, type JsonValue } from '../values/json.ts';
import { SELF } from '../values/self.ts';
import type { ToldEvent } from './event.ts';
import { labelsOf, type NamingConfig, namedOutput, namedReading, readingName } from './named.ts';

/** Replies that say nothing of a refusal. */
const UNFINISHED = {
  'under-way': 'commandUnderWay',
  'outcome-unknown': 'commandUnknown',
  'deadline-passed': 'commandLate',
} as const;

/** Methods whose `name` is that of a sensor or an alarm. */
const NAMES_NO_OUTPUT: ReadonlySet<string> = new Set(['readSensor', 'acknowledgeAlarm']);

/** A command of the platform, with what it moved or why it did not. */
export function commandEvent(
  { method, params, reply }: ToldCommand,
  config: Pick<NamingConfig, 'actuators'>,
  device?: string,
): ToldEvent {
  const { result, error } = reply;
  const isOfOutput = !NAMES_NO_OUTPUT.has(method) && isJsonObject(params);
  const named = isOfOutput && typeof params.name === 'string' ? params.name : undefined;
  const actuator = isJsonObject(result) && typeof result.name === 'string' ? result.name : named;
  const common = { kind: 'command', by: 'rpc', key: method, actuator, device } as const;
  if (isJsonObject(error)) {
    const code = String(error.code);
    const how = Object.hasOwn(UNFINISHED, code) ? UNFINISHED[code as keyof typeof UNFINISHED] : 'commandRefused';
    return { ...common, ...toldAs(sentence(how, { method, why: valueWord(error.message) })) };
  }
  if (actuator === undefined || !isJsonObject(result))
    return { ...common, ...toldAs(sentence('commandCalled', { method })) };
  const { value = null, pulsing } = result;
  const { name, class: kind } = namedOutput(config, actuator);
  const told = sentence(pulsing === true ? 'commandPulsed' : 'commandMoved', {
    method,
    output: name,
    value: plainValue(value),
    class: kind,
  });
  return { ...common, value, ...toldAs(told) };
}

/** Beginning or end of a rule's condition, with what the rule moves; `instead` tells what is so where it moves nothing. */
export function ruleEvent(
  { rule, on, refusal, told: why = refusal, isUnknown = false, isKept = false }: RuleEvent,
  config: Pick<NamingConfig, 'actuators' | 'rules'>,
  instead?: Sentence,
): ToldEvent {
  const { label = rule, set, otherwise } = config.rules.find(({ name }) => name === rule) ?? {};
  const actuator = set?.actuator;
  const output = actuator === undefined ? undefined : namedOutput(config, actuator);
  const value = instead !== undefined ? undefined : on ? set?.value : otherwise;
  const sets =
    output === undefined || value === undefined
      ? undefined
      : sentence('ruleSets', { output: output.name, value, class: output.class });
  const moves = instead === undefined ? sets : labelled(instead, labelsOf(config, actuator));
  const edge = sentence(isKept ? 'ruleHolds' : on ? 'ruleBegan' : 'ruleEnded', { rule: label });
  const told =
    why === undefined
      ? sentence('ruleTold', { edge, moves })
      : sentence(isUnknown ? 'ruleNotAnswered' : 'ruleNotMoved', {
          edge,
          output: output?.name,
          why: typeof why === 'string' ? why : labelled(why, labelsOf(config, actuator)),
        });
  return { kind: 'rule', by: rule, actuator, value, ...toldAs(told) };
}

/** An alarm for each limit that was crossed, or is no longer. */
export function alarmEvents(alarm: ToldAlarm, config: Pick<NamingConfig, 'sensors'>): readonly ToldEvent[] {
  const { sensor, key, device, value, raised, over } = alarm;
  const common = { kind: 'alarm', sensor, key, device: device === SELF ? undefined : device, value } as const;
  const { name: called, class: kind, unit } = namedReading(config, alarm);
  const reading = { name: called, value: plainValue(value), class: kind, unit } as const;
  return [
    ...raised.map(({ name, label = name, above, below, equal, limit }) => {
      const shownLabel = label === limit ? undefined : label;
      const told = sentence('alarmRaised', { ...reading, above, below, equal, limit, label: shownLabel });
      return { ...common, by: name, from: above ?? below ?? equal, ...toldAs(told) };
    }),
    ...over.map(({ name, label = name, above, below, equal }) => {
      const told = sentence('alarmOver', { ...reading, above, below, equal, label });
      return { ...common, by: name, from: above ?? below ?? equal, ...toldAs(told) };
    }),
  ];
}

/** Returns an event for each alarm that somebody has seen. */
export function acknowledgedEvents(
  told: ToldAcknowledgement,
  config: Pick<NamingConfig, 'sensors'>,
): readonly ToldEvent[] {
  const { sensor, key, device, by, alarms } = told;
  const shown = readingName(config, told);
  return alarms.map(({ name, label = name, limit }) => ({
    kind: 'alarm',
    sensor,
    key,
    device: device === SELF ? undefined : device,
    by,
    value: name,
    ...toldAs(
      sentence('alarmAcknowledged', {
        by,
        name: shown,
        limit,
        label: label === limit ? undefined : label,
      }),
    ),
  }));
}

/** A change of the contact with the platform; `awayMs` is how long it was lost. */
export function contactEvent({ state, sentence: why, reason }: ContactStatus, awayMs: number | undefined): ToldEvent {
  const common = { kind: 'contact', value: state, by: reason } as const;
  if (why !== undefined) return { ...common, ...toldAs(sentence('contactLost', { why })) };
  const told = awayMs === undefined ? sentence('contactReached') : sentence('contactBack', { ms: awayMs });
  return { ...common, ...toldAs(told) };
}

const UPDATE_STEPS = {
  DOWNLOADING: 'updateBegan',
  UPDATING: 'updateInstalling',
  UPDATED: 'updateDone',
} as const;

/** Step of an update that people care for; none for the others. */
export function updateEvents(
  kind: string,
  { reported = '', update }: Pick<UpdaterStatus, 'reported' | 'update'>,
): readonly ToldEvent[] {
  if (update === undefined || update.isThere === true) return [];
  const { title, version, from, reason } = update;
  const common = { kind: 'update', key: kind, by: reported, value: version, from } as const;
  if (reported === 'FAILED') {
    const told = sentence('updateFailed', {
      title,
      version,
      why: reason ?? sentence('noReasonKnown'),
      from: from === 'unknown' ? undefined : from,
    });
    return [{ ...common, ...toldAs(told) }];
  }
  if (!Object.hasOwn(UPDATE_STEPS, reported)) return [];
  const step = UPDATE_STEPS[reported as keyof typeof UPDATE_STEPS];
  return [{ ...common, ...toldAs(sentence(step, { title, version })) }];
}

/** Outcome of reading the configuration again; none where nothing had changed. @param config in force now. */
export function configEvents(
  { changed, needRestart, rules = [] }: ReadAgain,
  config: Pick<NamingConfig, 'rules'>,
): readonly ToldEvent[] {
  const called = rules.map((rule) => config.rules.find(({ name }) => name === rule)?.label ?? rule);
  if (changed.length === 0) return [];
  const named = changed.map((section) =>
    section === 'rules' && called.length > 0 ? `rules (${called.join(', ')})` : section,
  );
  const restart = needRestart.length === 0 ? undefined : needRestart.join(', ');
  const told = sentence('configRead', { changed: named.join(', '), restart });
  return [{ kind: 'config', value: changed.join(', '), ...toldAs(told) }];
}

export function configFaultEvent(message: string): ToldEvent {
  return { kind: 'config', ...toldAs(sentence('configRefused', { why: message })) };
}

/** Returns JSON in the place of what is neither a state nor a number nor a text. */
function plainValue(value: JsonValue): string | number | bigint | boolean | null {
  return typeof value === 'object' && value !== null ? valueWord(value) : value;
}
