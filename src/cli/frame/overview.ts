/**
 * Commands by name and one line each, without their declarations: `turnstone --help`, and suggestions for a mistyped name, are made
 * from this table and load no command.
 */
import type { Command } from '../command.ts';

interface Entry {
  /** The same as in the declaration. */
  readonly says: string;
  readonly isHidden?: boolean;
  load(): Promise<Command>;
}

/** In the order in which `--help` lists them; a call loads its own alone. */
export const OVERVIEW: Readonly<Record<string, Entry>> = {
  init: {
    says: 'write a first configuration: asks a few questions and looks at the buses',
    load: async () => (await import('../commands/init.ts')).INIT,
  },
  run: {
    says: 'run the agent in the foreground, as the service does',
    load: async () => (await import('../commands/run.ts')).RUN,
  },
  logs: {
    says: 'show what the agent has logged, in words',
    load: async () => (await import('../commands/logs.ts')).LOGS,
  },
  timeline: {
    says: 'show what happened: commands, rules, alarms, contact, updates, restarts',
    load: async () => (await import('../commands/timeline.ts')).TIMELINE,
  },
  'check-config': {
    says: 'check a configuration: every fault at once, with line, column and a hint',
    load: async () => (await import('../commands/run.ts')).CHECK_CONFIG,
  },
  doctor: {
    says: 'look at everything that keeps a gateway from working, and say what to do',
    load: async () => (await import('../commands/doctor.ts')).DOCTOR,
  },
  diagnose: {
    says: 'pack configuration, status, logs and the doctor’s report into one redacted archive',
    load: async () => (await import('../commands/doctor.ts')).DIAGNOSE,
  },
  status: {
    says: 'show whether the agent works: connection, outbox, sensors, actuators, firmware',
    load: async () => (await import('../commands/status.ts')).STATUS,
  },
  firmware: {
    says: 'show, fetch, install and take back releases of this agent',
    load: async () => (await import('../commands/firmware.ts')).FIRMWARE,
  },
  sensors: {
    says: 'list the sensors of the running agent, or read one now',
    load: async () => (await import('../commands/status.ts')).SENSORS,
  },
  watch: {
    says: 'show readings and actuators live',
    load: async () => (await import('../commands/status.ts')).WATCH,
  },
  actuate: {
    says: 'set or release an actuator from on site, or ask why it is as it is',
    load: async () => (await import('../commands/status.ts')).ACTUATE,
  },
  devices: {
    says: 'list, show, claim, move and remove attached devices, and renew their tokens',
    load: async () => (await import('../commands/devices.ts')).DEVICES,
  },
  outbox: {
    says: 'show, list, export, verify and drain what waits for the platform',
    load: async () => (await import('../commands/outbox.ts')).OUTBOX,
  },
  scan: {
    says: 'show what hangs on a bus: i2c, serial, gpio, one-wire or modbus',
    load: async () => (await import('../commands/init.ts')).SCAN,
  },
  models: {
    says: 'list devices that are known: model: NAME in a modbus sensor or preset: NAME in a serial-line sensor reads them',
    load: async () => (await import('../commands/models.ts')).MODELS,
  },
  claim: {
    says: 'let a user of the platform claim this device',
    load: async () => (await import('../commands/identity.ts')).CLAIM,
  },
  identity: {
    says: 'show, move and renew the identity of this device',
    load: async () => (await import('../commands/identity.ts')).IDENTITY,
  },
  report: {
    says: 'fetch a report of the analytics service',
    load: async () => (await import('../../office/report-command.ts')).REPORT,
  },
  audit: {
    says: 'prove delivery: what was acknowledged against what a report finds',
    load: async () => (await import('../../office/report-command.ts')).AUDIT,
  },
  rpc: {
    says: 'send a client-side RPC to the platform and print its reply',
    load: async () => (await import('../commands/status.ts')).RPC,
  },
  'safe-states': {
    says: 'set the safe states that are declared for a stop or a crash, and switch off what the agent left to be, without an agent',
    load: async () => (await import('../commands/run.ts')).SAFE_STATES,
  },
  'platform-setup': {
    says: 'set a platform up for gateways: profile, alarm rules, dashboards, package, customer',
    load: async () => (await import('../../office/platform-setup-command.ts')).PLATFORM_SETUP,
  },
  platform: {
    says: 'serve a small local platform: device API and the REST part that tests and people need',
    load: async () => (await import('../commands/platform.ts')).PLATFORM,
  },
  board: {
    says: 'run a simulated board: pins, buses and ports that behave, and remember everything done to them',
    load: async () => (await import('../commands/platform.ts')).BOARD,
  },
  completion: {
    says: 'print a script by which a shell completes this command line',
    load: async () => (await import('./completion-command.ts')).COMPLETION,
  },
  backup: {
    says: 'write the whole gateway to one file, under a passphrase',
    load: async () => (await import('../commands/backup.ts')).BACKUP,
  },
  restore: {
    says: 'make this machine the gateway of a backup',
    load: async () => (await import('../commands/backup.ts')).RESTORE,
  },
  settings: {
    says: 'keep your own answers as defaults of init, scan, report and audit',
    load: async () => (await import('../commands/settings.ts')).SETTINGS,
  },
};

/** Every declaration, in the order of the overview. */
export async function allCommands(): Promise<readonly Command[]> {
  return Promise.all(Object.values(OVERVIEW).map(({ load }) => load()));
}

export const DESCRIPTION = 'Device agent: telemetry that is never lost, actuators that move exactly once';

const OPTIONS = [
  ['-V, --version', 'print the version'],
  ['-h, --help', 'display help for command'],
] as const;
const HELP = ['help [command]', 'display help for command'] as const;
const EXAMPLES = ['check-config /etc/turnstone/turnstone.yaml', 'run --config /etc/turnstone/turnstone.yaml', 'status'];

export const EXIT_CODES = `\
Exit codes: 0 done · 1 failed, or something must be mended · 2 wrong command line · 66 configuration not readable now
            69 no agent runs · 70 fault of the program · 77 no permission · 78 wrong configuration · 130 interrupted`;

/** Narrower than this a text is not folded: it would have a word a line. */
const MIN_TEXT_WIDTH = 40;

/** The text of `turnstone --help`, folded to a terminal's width. */
export function overviewText(columns: number): string {
  const commands = Object.entries(OVERVIEW).flatMap(([name, { says, isHidden }]) =>
    isHidden === true ? [] : [[name, says] as const],
  );
  const terms = [...OPTIONS, ...commands, HELP].map(([term]) => term.length);
  const indent = Math.max(...terms) + 4;
  const row = ([term, says]: readonly [string, string]): string =>
    `  ${term}`.padEnd(indent) + folded(says, columns - indent).join(`\n${' '.repeat(indent)}`);
  return [
    'Usage: turnstone [options] [command]',
    '',
    ...folded(DESCRIPTION, columns),
    '',
    'Options:',
    ...OPTIONS.map(row),
    '',
    'Commands:',
    ...[...commands, HELP].map(row),
    helpAfter(EXAMPLES, EXIT_CODES),
    '',
  ].join('\n');
}

/** Stands below the help of a command. */
export function helpAfter(examples: readonly string[], ...below: readonly (string | undefined)[]): string {
  const said = below.filter((text) => text !== undefined);
  return [
    '',
    'Examples:',
    ...examples.map((line) => `  $ ${line.startsWith('sudo ') ? line : `turnstone ${line}`}`),
    ...(said.length === 0 ? [] : ['', ...said]),
  ].join('\n');
}

function folded(text: string, width: number): readonly string[] {
  if (width < MIN_TEXT_WIDTH) return [text];
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
