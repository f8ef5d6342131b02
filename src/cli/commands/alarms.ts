/** `turnstone alarms`: what is wrong now, and who has seen it. */

import { AS_JSON, argument, type Call, command, valued } from '../command.ts';
import { SENTENCES } from '../sentences.ts';

const ACKNOWLEDGE_ARGUMENTS = { key: argument('its key, as turnstone alarms lists it') };
const ACKNOWLEDGE_OPTIONS = {
  name: valued('<name>', 'only the alarm of this name; else all alarms of the key'),
  device: valued('<slot>', 'attached device that it is of; gateway for the gateway itself'),
  ...AS_JSON,
};
export type AlarmsCall = Call<typeof AS_JSON>;
export type AcknowledgeCall = Call<typeof ACKNOWLEDGE_OPTIONS, typeof ACKNOWLEDGE_ARGUMENTS>;

const SUBCOMMANDS = [
  command('list', {
    says: 'what is on: value, limit, since when, and who has acknowledged it',
    options: AS_JSON,
    examples: ['alarms', 'alarms list --json'],
    run: async (call) => (await import('../alarms.ts')).listAlarms(call),
  }),
  command('acknowledge', {
    says: 'say that somebody has seen it; it stays on until its value is within the limit',
    arguments: ACKNOWLEDGE_ARGUMENTS,
    options: ACKNOWLEDGE_OPTIONS,
    examples: [
      'alarms acknowledge temperature',
      'alarms acknowledge temperature --name "too hot"',
      'alarms acknowledge voltage --device meter-1',
    ],
    run: async (call) => (await import('../alarms.ts')).acknowledgeAlarms(call),
  }),
];

export const ALARMS = command('alarms', {
  says: SENTENCES.alarms,
  agent: 'needed',
  subcommands: SUBCOMMANDS,
  defaultSubcommand: 'list',
  examples: ['alarms', 'alarms acknowledge temperature'],
  notes:
    'The platform and the page are told who has acknowledged it. It ends with the alarm: one that comes again is new.',
});
