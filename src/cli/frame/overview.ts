/**
 * Commands by name and one line each, without their declarations: `turnstone --help`, and suggestions for a mistyped name, are made
 * from this table and load no command.
 */
import type { Command } from '../command.ts';
import { SENTENCES } from '../sentences.ts';

interface Entry {
  readonly says: string;
  readonly isHidden?: boolean;
  load(): Promise<Command>;
}

/** In the order in which `--help` lists them; a call loads its own alone. */
export const OVERVIEW: Readonly<Record<string, Entry>> = {
  init: {
    says: SENTENCES.init,
    load: async () => (await import('../commands/init.ts')).INIT,
  },
  run: {
    says: SENTENCES.run,
    load: async () => (await import('../commands/run.ts')).RUN,
  },
  logs: {
    says: SENTENCES.logs,
    load: async () => (await import('../commands/logs.ts')).LOGS,
  },
  timeline: {
    says: SENTENCES.timeline,
    load: async () => (await import('../commands/timeline.ts')).TIMELINE,
  },
  alarms: {
    says: SENTENCES.alarms,
    load: async () => (await import('../commands/alarms.ts')).ALARMS,
  },
  'check-config': {
    says: SENTENCES['check-config'],
    load: async () => (await import('../commands/run.ts')).CHECK_CONFIG,
  },
  doctor: {
    says: SENTENCES.doctor,
    load: async () => (await import('../commands/doctor.ts')).DOCTOR,
  },
  diagnose: {
    says: SENTENCES.diagnose,
    load: async () => (await import('../commands/doctor.ts')).DIAGNOSE,
  },
  status: {
    says: SENTENCES.status,
    load: async () => (await import('../commands/status.ts')).STATUS,
  },
  firmware: {
    says: SENTENCES.firmware,
    load: async () => (await import('../commands/firmware.ts')).FIRMWARE,
  },
  configure: {
    says: SENTENCES.configure,
    load: async () => (await import('../commands/configure.ts')).CONFIGURE,
  },
  configuration: {
    says: SENTENCES.configuration,
    load: async () => (await import('../commands/configure.ts')).CONFIGURATION,
  },
  sensors: {
    says: SENTENCES.sensors,
    load: async () => (await import('../commands/status.ts')).SENSORS,
  },
  watch: {
    says: SENTENCES.watch,
    load: async () => (await import('../commands/status.ts')).WATCH,
  },
  actuate: {
    says: SENTENCES.actuate,
    load: async () => (await import('../commands/status.ts')).ACTUATE,
  },
  devices: {
    says: SENTENCES.devices,
    load: async () => (await import('../commands/devices.ts')).DEVICES,
  },
  outbox: {
    says: SENTENCES.outbox,
    load: async () => (await import('../commands/outbox.ts')).OUTBOX,
  },
  scan: {
    says: SENTENCES.scan,
    load: async () => (await import('../commands/init.ts')).SCAN,
  },
  models: {
    says: SENTENCES.models,
    load: async () => (await import('../commands/models.ts')).MODELS,
  },
  driver: {
    says: SENTENCES.driver,
    load: async () => (await import('../commands/driver.ts')).DRIVER,
  },
  claim: {
    says: SENTENCES.claim,
    load: async () => (await import('../commands/identity.ts')).CLAIM,
  },
  identity: {
    says: SENTENCES.identity,
    load: async () => (await import('../commands/identity.ts')).IDENTITY,
  },
  report: {
    says: SENTENCES.report,
    load: async () => (await import('../../office/report-command.ts')).REPORT,
  },
  audit: {
    says: SENTENCES.audit,
    load: async () => (await import('../../office/report-command.ts')).AUDIT,
  },
  rpc: {
    says: SENTENCES.rpc,
    load: async () => (await import('../commands/status.ts')).RPC,
  },
  'safe-states': {
    says: SENTENCES['safe-states'],
    load: async () => (await import('../commands/run.ts')).SAFE_STATES,
  },
  'platform-setup': {
    says: SENTENCES['platform-setup'],
    load: async () => (await import('../../office/platform-setup-command.ts')).PLATFORM_SETUP,
  },
  platform: {
    says: SENTENCES.platform,
    load: async () => (await import('../commands/platform.ts')).PLATFORM,
  },
  board: {
    says: SENTENCES.board,
    load: async () => (await import('../commands/platform.ts')).BOARD,
  },
  completion: {
    says: SENTENCES.completion,
    load: async () => (await import('./completion-command.ts')).COMPLETION,
  },
  backup: {
    says: SENTENCES.backup,
    load: async () => (await import('../commands/backup.ts')).BACKUP,
  },
  restore: {
    says: SENTENCES.restore,
    load: async () => (await import('../commands/backup.ts')).RESTORE,
  },
  settings: {
    says: SENTENCES.settings,
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
