/** Stand-ins for benches, demos and tests, until Ctrl-C: a small local platform, and a simulated board. */

import { windowsOf } from '../../stand-ins/local-platform/rate-limit.ts';
import { assignment, type Call, command, list, taking, toggle, valued, wholeNumber } from '../command.ts';
import { SENTENCES } from '../sentences.ts';

const port = wholeNumber('a port is a whole number from 0 to 65535', 0, 65_535);
const milliseconds = wholeNumber('milliseconds are a whole number above 0', 1);
const count = wholeNumber('a whole number from 0', 0);
const windows = taking('windows are like 100:1,3000:60', (text) => (windowsOf(text).length > 0 ? text : undefined));

const PLATFORM_OPTIONS = {
  port: valued('<number>', 'HTTP port; 0 takes any free one', { parse: port, byDefault: 8080 }),
  host: valued('<address>', 'address to listen on', { byDefault: '127.0.0.1' }),
  tlsPort: valued('<number>', 'HTTPS port, with a certificate made at start; 0 takes any free one', { parse: port }),
  tlsCertificateFile: valued('<file>', 'where to write that certificate, for clients to trust'),
  claimDurationMs: valued('<number>', 'how long a claim stays open when the device does not say (default: 86400000)', {
    parse: milliseconds,
  }),
  messageLimit: valued('<windows>', 'messages a device may send, like 100:1,3000:60: 100 in 1 s and 3000 in 60 s', {
    parse: windows,
  }),
  telemetryLimit: valued('<windows>', 'messages of telemetry and attributes, counted apart (default: as many)', {
    parse: windows,
  }),
  dataPointLimit: valued('<windows>', 'values a device may send in telemetry and attributes, likewise', {
    parse: windows,
  }),
  storeDelayMs: valued('<number>', 'how long after its answer what a device sent is stored (default: at once)', {
    parse: milliseconds,
  }),
  legacyProvisioning: toggle('provision as a server that knows only the contract: it makes every token itself'),
  wholeFileFirmware: toggle('serve firmware as a server that knows only the contract: whole files, no fw_size'),
  pointsPerKey: valued('<number>', 'past this many points a key loses its oldest (default: 1000000)', { parse: count }),
  reportThreads: valued(
    '<number>',
    'reports that run at a time (SIMPLE_API_RATE_LIMITER_THREAD_POOL_SIZE; default: 4)',
    { parse: count },
  ),
  reportQueue: valued('<number>', 'reports that may wait (SIMPLE_API_RATE_LIMITER_QUEUE_CAPACITY; default: 10)', {
    parse: count,
  }),
  data: valued('<folder>', 'keep everything in this folder; without it, in memory'),
  device: list('<name=token>', 'make a device with this access token (repeatable)', assignment('write name=token')),
  json: toggle('print the addresses as one line of JSON'),
};
export type PlatformCall = Call<typeof PLATFORM_OPTIONS>;

export const PLATFORM = command('platform', {
  says: SENTENCES.platform,
  options: PLATFORM_OPTIONS,
  examples: ['platform', 'platform --port 8080 --data ./platform-data', 'platform --device gateway=my-access-token'],
  notes: 'People log in as tenant@thingsboard.org with the password "tenant".',
  run: async (call) => (await import('../platform.ts')).runPlatform(call),
});

const BOARD_OPTIONS = {
  socket: valued('<path>', 'Unix socket to listen on', { isRequired: true }),
  record: valued('<file>', 'append everything shown and done to this file, as JSON lines'),
  config: valued('<file>', 'what is on the board (YAML or JSON); without it, a sample of everything'),
  fit: valued('<file>', 'make the board that this agent configuration needs'),
  json: toggle('print what is needed to reach it as one line of JSON'),
};
export type BoardCall = Call<typeof BOARD_OPTIONS>;

export const BOARD = command('board', {
  says: SENTENCES.board,
  options: BOARD_OPTIONS,
  examples: [
    'board --socket /tmp/board.sock',
    'board --socket /tmp/board.sock --config board.yaml --record board.jsonl',
    'board --socket /tmp/board.sock --fit /etc/turnstone/turnstone.yaml',
  ],
  notes: 'An agent uses it with "hardware: { board: simulated, boardSocket: /tmp/board.sock }".',
  run: async (call) => (await import('../board.ts')).runBoard(call),
});
