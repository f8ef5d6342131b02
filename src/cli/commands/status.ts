/** Commands that ask the running agent: its status, its sensors, their values live, its actuators, and the platform through it. */

import { parseJson } from '../../values/json.ts';
import { argument, type Call, choice, command, duration, taking, toggle, valued, wholeNumber } from '../command.ts';
import { SENTENCES } from '../sentences.ts';

const STATUS_OPTIONS = {
  all: toggle('print every sensor, output and device, where many are folded into groups otherwise'),
  json: toggle('print the whole status as JSON'),
};
export type StatusCall = Call<typeof STATUS_OPTIONS>;

export const STATUS = command('status', {
  says: SENTENCES.status,
  agent: 'needed',
  options: STATUS_OPTIONS,
  examples: ['status', 'status --all', 'status --json', 'status --config /etc/turnstone/turnstone.yaml'],
  notes: `\
Of more than 12 sensors it shows those that fail, and the others in groups; of ten outputs or more those with a fault or
held by an operator. Alarms and trouble come first.`,
  exitCodes: '0 the agent answers, 69 no agent runs',
  run: async (call) => (await import('../status.ts')).showStatus(call),
});

const SENSORS_OPTIONS = { json: toggle('print as JSON') };
const READ_ARGUMENTS = { name: argument('its name in the configuration') };
export type ReadCall = Call<typeof SENSORS_OPTIONS, typeof READ_ARGUMENTS>;

const READ = command('read', {
  says: 'read one sensor now',
  arguments: READ_ARGUMENTS,
  options: SENSORS_OPTIONS,
  examples: ['sensors read roof', 'sensors read roof --json'],
  agent: async (configFile, edge) => (await import('../sensors.ts')).openSensors(configFile, edge),
  run: async (call) => (await import('../sensors.ts')).readSensor(call),
});

export const SENSORS = command('sensors', {
  says: SENTENCES.sensors,
  agent: 'needed',
  options: SENSORS_OPTIONS,
  examples: ['sensors', 'sensors read roof', 'sensors read roof --config gateway.yaml --json'],
  notes: 'A running agent is asked; when none runs, "read" opens the sensor itself.',
  subcommands: [READ],
  run: async (call) => (await import('../sensors.ts')).listSensors(call),
});

/** Orders of the table; without one it has the configuration's. */
export const WATCH_SORTS = ['name', 'state', 'age', 'device'] as const;
export type WatchSort = (typeof WATCH_SORTS)[number];

const WATCH_OPTIONS = {
  every: valued('<duration>', 'how often to look', {
    parse: duration('a duration from 100ms, such as 1s', 100),
    byDefault: 1_000,
  }),
  sort: choice('<order>', 'order of the table on a terminal; without it the configuration’s', WATCH_SORTS),
  times: valued('<number>', 'end after so many looks', { parse: wholeNumber('a whole number above 0', 1) }),
  json: toggle('print each new reading as one line of JSON'),
};
export type WatchCall = Call<typeof WATCH_OPTIONS>;

export const WATCH = command('watch', {
  says: SENTENCES.watch,
  agent: 'needed',
  options: WATCH_OPTIONS,
  examples: ['watch', 'watch --sort age', 'watch --every 5s', 'watch --json | jq .value'],
  notes: `\
On a terminal: arrows, PgUp, PgDn, Home and End scroll, s changes the order, / filters, q or Ctrl-C ends it.
In a pipe it prints a line for each change.`,
  run: async (call) => (await import('../watch.ts')).watch(call),
});

const ACTUATE_ARGUMENTS = {
  name: argument('its name in the configuration'),
  value: argument('on, off, a number, or a text', { byDefault: '' }),
};
const ACTUATE_OPTIONS = {
  for: valued('<time>', 'hold the value against rules for so long, then release it', {
    parse: duration('a time, as 30m or 2h', 1_000),
  }),
  release: toggle('take back what an operator has set: rules, or the state for the start, apply again'),
  why: toggle('tell why it is as it is, and move nothing'),
  text: toggle('take the value as text, also when it looks like a number'),
  json: toggle('print the answer as JSON'),
};
export type ActuateCall = Call<typeof ACTUATE_OPTIONS, typeof ACTUATE_ARGUMENTS>;

export const ACTUATE = command('actuate', {
  says: SENTENCES.actuate,
  agent: 'needed',
  arguments: ACTUATE_ARGUMENTS,
  options: ACTUATE_OPTIONS,
  examples: [
    'actuate pump on',
    'actuate fan 60 --for 2h',
    'actuate pump --release',
    'actuate pump --why',
    "actuate sign 'OPEN' --text",
  ],
  notes:
    'The agent must run: limits, interlocks and safe states are its. A lockout stops what comes from afar, not this command.',
  run: async (call) => (await import('../actuate.ts')).actuate(call),
});

const MAX_TIMEOUT_S = 300;
const RPC_ARGUMENTS = {
  method: argument('the method that the rule chain knows'),
  params: argument('its parameters, as JSON', {
    parse: taking('parameters are JSON, for example \'{"day": "monday"}\'; mind the quotes of the shell', (text) =>
      parseJson(text),
    ),
    byDefault: {},
  }),
};
const RPC_OPTIONS = {
  timeout: valued('<seconds>', 'how long to wait for the reply', {
    parse: taking(`seconds from 1 to ${MAX_TIMEOUT_S}`, (text) =>
      Number(text) > 0 && Number(text) <= MAX_TIMEOUT_S ? Number(text) : undefined,
    ),
    byDefault: 15,
  }),
  json: toggle('print the reply on one line'),
};
export type RpcCall = Call<typeof RPC_OPTIONS, typeof RPC_ARGUMENTS>;

export const RPC = command('rpc', {
  says: SENTENCES.rpc,
  agent: 'needed',
  arguments: RPC_ARGUMENTS,
  options: RPC_OPTIONS,
  examples: ['rpc getTime', 'rpc getSchedule \'{"day": "monday"}\''],
  notes: "The reply is what the platform's rule chain answers, as JSON.",
  run: async (call) => (await import('../actuate.ts')).sendRpc(call),
});
