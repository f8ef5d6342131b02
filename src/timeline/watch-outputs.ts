/**
 * Changes of outputs that no command and no rule tells: no contact, safe states, limits, ends of pulses, changes at the device, faults; and values
 * of shared attributes.
 */
import type { ActuatorState, ActuatorValue } from '../actuators/kind/actuator.ts';
import type { Output, OutputCause } from '../actuators/output.ts';
import { type Labels, labelled, sentence, toldAs } from '../names/sentences.ts';
import type { ToldEvent } from './event.ts';
import { labelsOf, type NamedOutput, type NamingConfig, namedOutput } from './named.ts';
import type { TellTimeline } from './timeline.ts';

export interface WatchedOutputs {
  states(): readonly ActuatorState[];
  onState(listener: (state: ActuatorState) => void): () => void;
  /** Returns the output, which knows the slot that it follows. */
  find(name: string): Pick<Output, 'cause' | 'reason'> | undefined;
  /** Returns what the hardware showed before anything was set; undefined where it did not say. */
  foundAtStart(name: string): ActuatorValue | undefined;
}

interface Look extends Omit<ActuatorState, 'name'> {
  readonly slot: string | undefined;
  /** Cause of the last change of its slot, until it is told. */
  readonly cause?: OutputCause | undefined;
}

/** Tells from now on; the returned function ends it. @param config in force. */
export function watchOutputs(
  outputs: WatchedOutputs,
  tell: TellTimeline,
  config: () => Pick<NamingConfig, 'actuators'> & Partial<Pick<NamingConfig, 'rules'>>,
): () => void {
  const told = new WeakSet<OutputCause>();
  const lookAt = ({ name, ...state }: ActuatorState): Look => {
    const { cause, reason } = outputs.find(name) ?? {};
    return {
      ...state,
      slot: reason?.slots[0]?.slot,
      cause: cause !== undefined && told.has(cause) ? undefined : cause,
    };
  };
  for (const { name, value, by } of outputs.states()) {
    const from = outputs.foundAtStart(name);
    if (from === undefined || value === undefined || value === from) continue;
    const { name: output, class: kind } = namedOutput(config(), name);
    const told = sentence('outputSetAtStart', { output, value, class: kind, from });
    tell({ kind: 'output', actuator: name, value, from, by, ...toldAs(told) });
  }
  const looks = new Map(outputs.states().map((state) => [state.name, lookAt(state)]));
  return outputs.onState((state) => {
    const now = lookAt(state);
    const before = looks.get(state.name) ?? now;
    looks.set(state.name, now);
    const named = namedOutput(config(), state.name);
    const labels = labelsOf(config(), state.name);
    for (const event of outputEvents(state.name, before, now, named, labels)) tell(event);
    if (now.cause !== undefined && now.value !== before.value) told.add(now.cause);
  });
}

/** Events between two looks at one output. */
export function outputEvents(
  actuator: string,
  before: Look,
  now: Look,
  { name, class: kind }: NamedOutput,
  labels: Labels = {},
): readonly ToldEvent[] {
  const { value = null, fault } = now;
  const common = { kind: 'output', actuator, value, from: before.value } as const;
  const output = { output: name, value, class: kind };
  const events: ToldEvent[] = [];
  const isOther = now.slot !== before.slot;
  const hasMoved = value !== (before.value ?? null);
  if (isOther && now.slot === 'limit')
    events.push({ ...common, by: 'limit', ...toldAs(sentence('outputLimitEnded', output)) });
  else if (isOther && now.slot === 'noContact')
    events.push({ ...common, by: 'noContact', ...toldAs(sentence('outputContactLost', output)) });
  else if (isOther && before.slot === 'noContact')
    events.push({ ...common, by: 'noContact', ...toldAs(sentence('outputContactBack', output)) });
  else if (before.pulsing && !now.pulsing)
    events.push({ ...common, by: 'pulse', ...toldAs(sentence('outputPulseEnded', output)) });
  else if (hasMoved && now.isChangedAtDevice === true)
    events.push({ ...common, by: 'device', ...toldAs(sentence('outputChangedAtDevice', output)) });
  else if (hasMoved && before.isChangedAtDevice === true && value === now.desired && value === before.desired)
    events.push({ ...common, by: 'device', ...toldAs(sentence('outputAsSetAgain', output)) });
  else if (hasMoved && now.cause !== undefined && value === now.desired)
    events.push({
      ...common,
      by: now.by,
      ...toldAs(sentence('outputMoved', { ...output, cause: labelled(now.cause.sentence, labels) })),
    });
  else if (hasMoved && now.by === 'safe-state')
    events.push({ ...common, by: 'safe-state', ...toldAs(sentence('outputSafeState', output)) });
  else if (hasMoved && now.by === 'shared')
    events.push({
      ...common,
      kind: 'command',
      by: 'shared',
      ...toldAs(sentence('outputByAttribute', output)),
    });
  if (fault !== undefined && fault !== before.fault)
    events.push({ ...common, by: 'fault', ...toldAs(sentence('outputFault', { output: name, why: fault })) });
  if (fault === undefined && before.fault !== undefined)
    events.push({ ...common, by: 'fault', ...toldAs(sentence('outputFaultOver', output)) });
  return events;
}
