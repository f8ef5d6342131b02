/** Changes of outputs that no command and no rule tells: no contact, safe states, limits, ends of pulses, faults; and values of shared attributes. */
import type { ActuatorState } from '../actuators/kind/actuator.ts';
import type { Output, OutputCause } from '../actuators/output.ts';
import type { ToldEvent } from './event.ts';
import { type NamedOutput, type NamingConfig, namedOutput } from './named.ts';
import type { TellTimeline } from './timeline.ts';

export interface WatchedOutputs {
  states(): readonly ActuatorState[];
  onState(listener: (state: ActuatorState) => void): () => void;
  /** Returns the output, which knows the slot that it follows. */
  find(name: string): Pick<Output, 'cause' | 'reason'> | undefined;
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
  config: () => Pick<NamingConfig, 'actuators'>,
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
  const looks = new Map(outputs.states().map((state) => [state.name, lookAt(state)]));
  return outputs.onState((state) => {
    const now = lookAt(state);
    const before = looks.get(state.name) ?? now;
    looks.set(state.name, now);
    for (const event of outputEvents(state.name, before, now, namedOutput(config(), state.name))) tell(event);
    if (now.cause !== undefined && now.value !== before.value) told.add(now.cause);
  });
}

/** Events between two looks at one output. */
export function outputEvents(
  actuator: string,
  before: Look,
  now: Look,
  { name, text }: NamedOutput,
): readonly ToldEvent[] {
  const { value = null, fault } = now;
  const common = { kind: 'output', actuator, value, from: before.value } as const;
  const shown = `${name} is ${text(value)}`;
  const events: ToldEvent[] = [];
  const isOther = now.slot !== before.slot;
  const hasMoved = value !== (before.value ?? null);
  if (isOther && now.slot === 'limit')
    events.push({ ...common, by: 'limit', words: `${shown}: its longest time on has ended.` });
  else if (isOther && now.slot === 'noContact')
    events.push({ ...common, by: 'noContact', words: `${shown}: there is no contact with the platform.` });
  else if (isOther && before.slot === 'noContact')
    events.push({
      ...common,
      by: 'noContact',
      words: `${shown}: contact is back, and its state without contact is over.`,
    });
  else if (before.pulsing && !now.pulsing)
    events.push({ ...common, by: 'pulse', words: `${shown}: its pulse has ended.` });
  else if (hasMoved && now.cause !== undefined && value === now.desired)
    events.push({ ...common, by: now.by, words: `${shown}: ${now.cause.words}.` });
  else if (hasMoved && now.by === 'safe-state')
    events.push({ ...common, by: 'safe-state', words: `${shown}: its safe state was set.` });
  else if (hasMoved && now.by === 'shared')
    events.push({
      ...common,
      kind: 'command',
      by: 'shared',
      words: `A shared attribute of the platform set it: ${shown}.`,
    });
  if (fault !== undefined && fault !== before.fault)
    events.push({ ...common, by: 'fault', words: `${name} has a fault: ${fault}.` });
  if (fault === undefined && before.fault !== undefined)
    events.push({ ...common, by: 'fault', words: `${shown}: its fault is over.` });
  return events;
}
