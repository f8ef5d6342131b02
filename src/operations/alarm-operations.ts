/** Operation on the alarms that are on. */
import type { Acknowledger, AlarmChoice, SeenAlarm } from '../telemetry/acknowledgement.ts';
import type { JsonValue } from '../values/json.ts';
import { TOLD_BY } from './may-ask.ts';
import { memberOf, type OperationsOn, objectOf, QUESTION, SENSOR_NAME, textOf } from './operation.ts';

export interface AlarmsToSee {
  /** Returns the alarms of the choice, each acknowledged. @throws AgentError `alarms/not-on` (drop) when none of them is on. */
  readonly acknowledgeAlarm: (choice: AlarmChoice, by: Acknowledger) => readonly SeenAlarm[];
}

/** Longest key of the platform. */
const MAX_KEY = 255;
/** An alarm without a name is called by its condition in words. */
const MAX_NAME = 1_000;

export const ALARM_OPERATIONS: OperationsOn<AlarmsToSee> = {
  acknowledgeAlarm: (alarms) => ({
    ...QUESTION,
    description: 'Marks alarms that are on as seen: one by its name, or all of a key. It moves nothing.',
    effect: 'set',
    askers: ['platform', 'site', 'page'],
    params: objectOf(
      {
        sensor: SENSOR_NAME,
        key: { type: 'string', maxLength: MAX_KEY, description: 'the key, as the platform calls it' },
        name: { type: 'string', maxLength: MAX_NAME, description: 'the alarm; without it all alarms of the key' },
      },
      ['sensor', 'key'],
    ),
    run: (params, { asker }) => alarms.acknowledgeAlarm(choiceOf(params), TOLD_BY[asker]),
  }),
};

function choiceOf(params: JsonValue): AlarmChoice {
  const name = memberOf(params, 'name') === null ? undefined : textOf(params, 'name');
  return { sensor: textOf(params, 'sensor'), key: textOf(params, 'key'), name };
}
