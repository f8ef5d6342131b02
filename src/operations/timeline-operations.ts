/** Operation on the record of what happened. */
import type { TimelineAnswer } from '../timeline/query.ts';
import { isJsonObject, type JsonObject } from '../values/json.ts';
import { type OperationsOn, QUESTION } from './operation.ts';

/** Returns the events that a query asks for, the newest first. */
export type SelectEvents = (query: JsonObject) => Promise<TimelineAnswer> | TimelineAnswer;

export const TIMELINE_OPERATIONS: OperationsOn<SelectEvents> = {
  timeline: (select) => ({
    ...QUESTION,
    description: 'What happened, the newest first.',
    askers: ['viewer'],
    params: { type: 'object' },
    run: async (params) => {
      const { events, more } = await select(isJsonObject(params) ? params : {});
      return { events: events.map(({ sentence: _untold, ...event }) => event), more };
    },
  }),
};
