/** Calls of the command line to the timeline, and those that it records: a person at the device moves an output. */
import type { ControlCalls, ControlMethod } from '../control-socket/control-connection.ts';
import { hasCode, messageOf } from '../errors/agent-error.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonOf } from '../values/json.ts';
import { timelineQueryOf } from './query.ts';
import type { TellTimeline, Timeline } from './timeline.ts';
import { valueWord } from './words.ts';

export function timelineCalls(timeline: Pick<Timeline, 'select'>): ControlCalls {
  return { readMethods: { timeline: (params) => jsonOf(timeline.select(timelineQueryOf(params))) } };
}

/** Commands at the device, by their methods: each is told when it has ended, or was refused. */
const TOLD: Readonly<Record<string, string>> = { setActuator: 'set', releaseActuator: 'released' };

/** The same calls, those that move an output told. */
export function toldCalls({ methods = {}, ...others }: ControlCalls, tell: TellTimeline): ControlCalls {
  const told = Object.entries(methods).map(([name, method]) => {
    const did = TOLD[name];
    return [name, did === undefined ? method : toldMethod(method, did, tell)] as const;
  });
  return { ...others, methods: Object.fromEntries(told) };
}

function toldMethod(method: ControlMethod, did: string, tell: TellTimeline): ControlMethod {
  return (params, signal) => {
    const actuator = typeof params.name === 'string' ? params.name : '';
    const wish = { ...WHO.local, actuator, did, wanted: wantedIn(params) };
    return toldMovement(wish, async () => await method(params, signal), tell);
  };
}

/** Movements of the page, told. */
export interface MovedOutputs {
  readonly set: (name: string, value: JsonValue, forMs: number | undefined, signal: AbortSignal) => Promise<object>;
  readonly release: (name: string) => Promise<object>;
}

/** The same outputs, each movement told. */
export function toldOutputs<T extends MovedOutputs>(outputs: T, tell: TellTimeline): T & MovedOutputs {
  return {
    ...outputs,
    set: (name, value, forMs, signal) => {
      const wish = { ...WHO.page, actuator: name, did: 'set', wanted: wantedIn({ value }) };
      return toldMovement(wish, () => outputs.set(name, value, forMs, signal), tell);
    },
    release: (name) => {
      const wish = { ...WHO.page, actuator: name, did: 'released', wanted: '' };
      return toldMovement(wish, () => outputs.release(name), tell);
    },
  };
}

const WHO = {
  local: { by: 'local', who: 'A person at the device' },
  page: { by: 'page', who: 'Somebody on the page' },
} as const;

type Wish = (typeof WHO)[keyof typeof WHO] & Readonly<Record<'actuator' | 'did' | 'wanted', string>>;

async function toldMovement<T extends object | JsonValue>(
  { by, who, actuator, did, wanted }: Wish,
  move: () => Promise<T>,
  tell: TellTimeline,
): Promise<T> {
  const common = { kind: 'command', by, actuator } as const;
  try {
    const state = await move();
    const value = isJsonObject(state as JsonValue) ? (state as JsonObject).value : undefined;
    tell({ ...common, value, words: `${who} ${did} ${actuator}: it is ${valueWord(value)}.` });
    return state;
  } catch (error) {
    const how = hasCode(error, 'actuators/outcome-unknown') ? 'the answer did not come' : 'it was refused';
    tell({ ...common, words: `${who} wanted ${actuator}${wanted}, and ${how}: ${messageOf(error)}.` });
    throw error;
  }
}

function wantedIn({ value }: JsonObject): string {
  return value === undefined ? '' : ` to be ${valueWord(value)}`;
}
