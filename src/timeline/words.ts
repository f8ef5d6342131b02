/** Events of the other rooms as sentences. Each is made of what its room tells, and of nothing that is looked up here. */
import type { RuleEvent } from '../actuators/rule-event.ts';
import type { ReadAgain } from '../config/config-file.ts';
import { formatDuration } from '../config/fields/quantity.ts';
import type { UpdaterStatus } from '../firmware/updater-status.ts';
import { valueWord } from '../host/value-word.ts';
import type { ContactStatus } from '../platform/contact.ts';
import { faultText } from '../platform/contact.ts';
import type { ToldCommand } from '../rpc/told-command.ts';
import type { Acknowledger, ToldAcknowledgement } from '../telemetry/acknowledgement.ts';
import type { ToldAlarm } from '../telemetry/alarm-change.ts';
import { isJsonObject } from '../values/json.ts';
import { SELF } from '../values/self.ts';
import type { ToldEvent } from './event.ts';
import { type NamingConfig, namedOutput, readingName, readingWords } from './named.ts';

/** Whole seconds, and past an hour whole minutes. */
export function spanWords(ms: number): string {
  const step = ms >= 3_600_000 ? 60_000 : 1_000;
  return formatDuration(Math.max(step, Math.round(ms / step) * step));
}

/** Replies that say nothing of a refusal. */
const UNFINISHED: Readonly<Record<string, string>> = {
  'under-way': 'it goes on',
  'outcome-unknown': 'it is not known whether it moved anything',
  'deadline-passed': 'it did not end in time',
};

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
  const called = `The platform called ${method}`;
  if (isJsonObject(error)) {
    const how = UNFINISHED[String(error.code)] ?? 'it was refused';
    return { ...common, words: `${called}, and ${how}: ${valueWord(error.message)}.` };
  }
  if (actuator === undefined || !isJsonObject(result)) return { ...common, words: `${called}.` };
  const { value = null, pulsing } = result;
  const output = namedOutput(config, actuator);
  return {
    ...common,
    value,
    words: `${called}: ${output.name} is ${output.text(value)}${pulsing === true ? ', for a pulse' : ''}.`,
  };
}

/** Beginning or end of a rule's condition, with what the rule moves; `instead` tells what is so where it moves nothing. */
export function ruleEvent(
  { rule, on, refusal, isUnknown = false, isKept = false }: RuleEvent,
  config: Pick<NamingConfig, 'actuators' | 'rules'>,
  instead?: string,
): ToldEvent {
  const { label, set, otherwise } = config.rules.find(({ name }) => name === rule) ?? {};
  const actuator = set?.actuator;
  const output = actuator === undefined ? undefined : namedOutput(config, actuator);
  const value = instead !== undefined ? undefined : on ? set?.value : otherwise;
  const sets =
    output === undefined || value === undefined ? undefined : `it sets ${output.name} to ${output.text(value)}`;
  const told = instead ?? sets;
  const moved = told === undefined ? '' : `: ${told}`;
  const edge = `Rule ${label ?? rule} ${isKept ? 'still holds' : on ? 'began' : 'ended'}`;
  const words =
    refusal === undefined
      ? `${edge}${moved}.`
      : `${edge}, and ${output?.name ?? 'its output'} ${isUnknown ? 'has not answered' : 'was not moved'}: ${refusal}.`;
  return { kind: 'rule', by: rule, actuator, value, words };
}

/** An alarm for each limit that was crossed, or is no longer. */
export function alarmEvents(alarm: ToldAlarm, config: Pick<NamingConfig, 'sensors'>): readonly ToldEvent[] {
  const { sensor, key, device, value, raised, over } = alarm;
  const common = { kind: 'alarm', sensor, key, device: device === SELF ? undefined : device, value } as const;
  return [
    ...raised.map(({ name, label = name, above, below, equal, limit }) => {
      return {
        ...common,
        by: name,
        from: above ?? below ?? equal,
        words: `Alarm: ${readingWords(config, alarm, { above, below })}, ${limit}${label === limit ? '' : ` (${label})`}.`,
      };
    }),
    ...over.map(({ name, label = name, above, below, equal }) => ({
      ...common,
      by: name,
      from: above ?? below ?? equal,
      words: `The alarm is over: ${readingWords(config, alarm, { above, below })} (${label}).`,
    })),
  ];
}

const ACKNOWLEDGER: Readonly<Record<Acknowledger, string>> = {
  platform: 'The platform',
  local: 'A person at the device',
  page: 'Somebody on the page',
};

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
    words: `${ACKNOWLEDGER[by]} acknowledged the alarm: ${shown}, ${limit}${label === limit ? '' : ` (${label})`}.`,
  }));
}

/** A change of the contact with the platform; `awayMs` is how long it was lost. */
export function contactEvent({ state, problem, remedy, reason }: ContactStatus, awayMs: number | undefined): ToldEvent {
  const common = { kind: 'contact', value: state, by: reason } as const;
  if (problem !== undefined && remedy !== undefined)
    return { ...common, words: `No contact with the platform: ${faultText({ problem, remedy })}.` };
  return {
    ...common,
    words: `The platform is reached${awayMs === undefined ? '' : ` again, after ${spanWords(awayMs)}`}.`,
  };
}

const UPDATE_STEPS: Readonly<Record<string, string>> = {
  DOWNLOADING: 'began: it is downloaded',
  UPDATING: 'is being installed',
  UPDATED: 'is done and confirmed',
  FAILED: 'failed',
};

/** Step of an update that people care for; none for the others. */
export function updateEvents(
  kind: string,
  { reported = '', update }: Pick<UpdaterStatus, 'reported' | 'update'>,
): readonly ToldEvent[] {
  const step = UPDATE_STEPS[reported];
  if (step === undefined || update === undefined || update.isThere === true) return [];
  const goesOn = update.from === 'unknown' ? '' : `; ${update.from} goes on`;
  const why = reported === 'FAILED' ? `: ${update.reason ?? 'no reason is known'}${goesOn}` : '';
  const words = `The update to ${update.title} ${update.version} ${step}${why}.`;
  return [{ kind: 'update', key: kind, by: reported, value: update.version, from: update.from, words }];
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
  const restart = needRestart.length === 0 ? '' : `; a restart takes up what changed in ${needRestart.join(', ')}`;
  return [
    {
      kind: 'config',
      value: changed.join(', '),
      words: `The changed configuration was read: ${named.join(', ')}${restart}.`,
    },
  ];
}

export function configFaultEvent(message: string): ToldEvent {
  return { kind: 'config', words: `The changed configuration is not taken up, and nothing changes: ${message}` };
}
