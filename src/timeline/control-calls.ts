/** Calls of the command line to the timeline, and those that it records: a person at the device moves an output. */
import type { ControlCalls, ControlMethod } from '../control-socket/control-connection.ts';
import { messageOf } from '../errors/agent-error.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonOf } from '../host/json.ts';
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
  return async (params, signal) => {
    const actuator = typeof params.name === 'string' ? params.name : '';
    const common = { kind: 'command', by: 'local', actuator } as const;
    try {
      const state = await method(params, signal);
      const value = valueIn(state);
      tell({ ...common, value, words: `A person at the device ${did} ${actuator}: it is ${valueWord(value)}.` });
      return state;
    } catch (error) {
      const wanted = wantedIn(params);
      tell({ ...common, words: `A person at the device wanted ${actuator}${wanted}, and it was refused: ${messageOf(error)}.` });
      throw error;
    }
  };
}

function wantedIn({ value }: JsonObject): string {
  return value === undefined ? '' : ` to be ${valueWord(value)}`;
}

function valueIn(state: JsonValue): JsonValue | undefined {
  return isJsonObject(state) ? state.value : undefined;
}
