/** The agent itself, until it is told to stop; the check of its configuration; and what systemd's stop hook calls after it. */

import { DEFAULT_CONFIG_FILE } from '../../config/fields/default-places.ts';
import { type Call, CONFIG, choice, command, files, toggle, valued } from '../command.ts';
import { SENTENCES } from '../sentences.ts';

const RUN_OPTIONS = {
  config: CONFIG,
  simulate: toggle('with a simulated board instead of this machine’s pins, buses and ports'),
  sendSimulated: toggle('with --simulate: send invented readings to a real device, which is refused otherwise'),
  json: toggle('print the log as JSON on a terminal, too; a pipe always gets JSON'),
  recordAppends: {
    ...valued('<file>', 'write every entry that became durable to this file, as JSON lines'),
    isHidden: true,
  },
};
export type RunCall = Call<typeof RUN_OPTIONS>;

export const RUN = command('run', {
  says: SENTENCES.run,
  options: RUN_OPTIONS,
  examples: ['run --config /etc/turnstone/turnstone.yaml', 'run --config gateway.yaml --simulate'],
  notes: `\
Signals: SIGTERM and Ctrl-C make readings durable, send what they can and stop; SIGHUP reads the configuration again and
changes only what changed.
On a terminal the log is printed in words, as turnstone logs prints it; a pipe and systemd get JSON lines.
With --simulate a configuration of a real platform runs with a local one and folders of its own, which are gone when it ends.
A file that the configuration names and that is not there now (a token, a certificate) is looked for again while it measures.`,
  exitCodes: `0 stopped as told, 1 failed and 66 the configuration cannot be read now (systemd starts it
again), 78 the configuration is wrong (systemd does not)`,
  run: async (call) => (await import('../run.ts')).run(call),
});

const CHECK_ARGUMENTS = { file: files('the configuration, or several', DEFAULT_CONFIG_FILE) };
const CHECK_OPTIONS = {
  json: toggle('print faults and warnings as JSON'),
  forElsewhere: toggle(
    'on a machine that is not the gateway: what only the gateway can answer is listed, and is no fault',
  ),
  explain: toggle('print the steps by which each value of a sensor is converted, in their order'),
};
export type CheckConfigCall = Call<typeof CHECK_OPTIONS, typeof CHECK_ARGUMENTS>;

export const CHECK_CONFIG = command('check-config', {
  says: SENTENCES['check-config'],
  arguments: CHECK_ARGUMENTS,
  options: CHECK_OPTIONS,
  examples: [
    'check-config /etc/turnstone/turnstone.yaml',
    'check-config gateway.yaml --json',
    'check-config --for-elsewhere fleet/*.yaml',
  ],
  notes: 'Ports, buses and chips are looked at by turnstone doctor, on the gateway.',
  exitCodes: '0 the agent would start with it, 78 it would not, or not with all that is named',
  run: async (call) => (await import('../check-config.ts')).checkConfig(call),
});

const SAFE_STATES_OPTIONS = {
  config: valued('<file>', 'configuration of the agent', { byDefault: DEFAULT_CONFIG_FILE }),
  event: choice('<event>', 'which of the declared states', ['stop', 'crash'], 'crash'),
};
export type SafeStatesCall = Call<typeof SAFE_STATES_OPTIONS>;

export const SAFE_STATES = command('safe-states', {
  says: SENTENCES['safe-states'],
  options: SAFE_STATES_OPTIONS,
  examples: ['safe-states --event crash'],
  notes:
    'Opens the hardware itself, so no agent may run: beside one that does it sets nothing.\n' +
    'Goes by what the last agent of this boot had in force, until all of that is set; then, or without it, by the configuration.\n' +
    'Of a configuration with faults it sets what it understands, and says where the rest is wrong.',
  exitCodes: '0 all were set, 1 some were not, or could not be understood',
  run: async (call) => (await import('../safe-states.ts')).applySafeStates(call),
});
