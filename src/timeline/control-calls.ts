/** Calls of the command line to the timeline. */
import type { ControlCalls } from '../control-socket/control-connection.ts';
import { jsonOf } from '../host/json.ts';
import { timelineQueryOf } from './query.ts';
import type { Timeline } from './timeline.ts';

export function timelineCalls(timeline: Pick<Timeline, 'select'>): ControlCalls {
  return { readMethods: { timeline: (params) => jsonOf(timeline.select(timelineQueryOf(params))) } };
}
