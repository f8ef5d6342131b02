/** The command that shows what happened. */

import { TIMELINE_KINDS, type TimelineKind } from '../../timeline/kinds.ts';
import { type Call, command, duration, list, taking, toggle, valued, wholeNumber } from '../command.ts';
import { SENTENCES } from '../sentences.ts';

const OPTIONS = {
  since: valued('<duration>', 'no older than that', { parse: duration('write a duration such as 10m or 2h', 1) }),
  kind: list<TimelineKind>(
    '<kind>',
    `only this kind (repeatable): ${TIMELINE_KINDS.join(', ')}`,
    taking(`write one of ${TIMELINE_KINDS.join(', ')}`, (text) => TIMELINE_KINDS.find((kind) => kind === text)),
  ),
  count: {
    ...valued('<count>', 'the last events, at most', {
      parse: wholeNumber('write a whole number from 1 to 2000', 1, 2_000),
      byDefault: 100,
    }),
    short: 'n',
  },
  json: toggle('print each event as one line of JSON, with its facts'),
};
export type TimelineCall = Call<typeof OPTIONS>;

export const TIMELINE = command('timeline', {
  says: SENTENCES.timeline,
  agent: async (configFile, edge) => (await import('../timeline.ts')).openTimelineFile(configFile, edge),
  options: OPTIONS,
  examples: ['timeline', 'timeline --since 1h', 'timeline --kind rule --kind alarm', 'timeline --json | jq .words'],
  notes:
    'Times are UTC; one with a ~ is of a clock that was not known to be right. When no agent runs, its record on disk is read.',
  run: async (call) => (await import('../timeline.ts')).showTimeline(call),
});
