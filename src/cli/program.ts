/** The command line: which commands there are, loaded only when asked for, and what an error of theirs looks like. */
import { Command, CommanderError } from 'commander';
import { AgentError, hasCode } from '../errors.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT, type ExitCode } from './exit-code.ts';

type AddCommand = (program: Command, edge: Edge) => void;

/** In the order in which `--help` lists them. */
const COMMANDS: Readonly<Record<string, () => Promise<AddCommand>>> = {
  init: async () => (await import('./init.ts')).addInitCommand,
  run: async () => (await import('./run.ts')).addRunCommand,
  'check-config': async () => (await import('./check-config.ts')).addCheckConfigCommand,
  doctor: async () => (await import('./doctor.ts')).addDoctorCommand,
  diagnose: async () => (await import('./diagnose.ts')).addDiagnoseCommand,
  status: async () => (await import('./status.ts')).addStatusCommand,
  firmware: async () => (await import('./firmware.ts')).addFirmwareCommand,
  sensors: async () => (await import('./sensors.ts')).addSensorsCommand,
  watch: async () => (await import('./watch.ts')).addWatchCommand,
  actuate: async () => (await import('./actuate.ts')).addActuateCommand,
  outbox: async () => (await import('./outbox.ts')).addOutboxCommand,
  scan: async () => (await import('./scan.ts')).addScanCommand,
  claim: async () => (await import('./claim.ts')).addClaimCommand,
  identity: async () => (await import('./identity.ts')).addIdentityCommand,
  report: async () => (await import('./report.ts')).addReportCommand,
  audit: async () => (await import('./audit.ts')).addAuditCommand,
  rpc: async () => (await import('./rpc.ts')).addRpcCommand,
  'safe-states': async () => (await import('./safe-states.ts')).addSafeStatesCommand,
  platform: async () => (await import('./platform.ts')).addPlatformCommand,
  board: async () => (await import('./board.ts')).addBoardCommand,
};

const EXAMPLES = `
Examples:
  $ turnstone check-config /etc/turnstone/turnstone.yaml
  $ turnstone run --config /etc/turnstone/turnstone.yaml
  $ turnstone status

Exit codes: 0 done · 1 failed, or something must be mended · 2 wrong command line · 66 configuration not readable now
            69 no agent runs · 70 fault of the program · 77 no permission · 78 wrong configuration · 130 interrupted`;

/** What can be typed after `turnstone`. */
export function commandNames(): readonly string[] {
  return Object.keys(COMMANDS);
}

/** Runs one command line to its end; resolves to the exit code. Nothing is thrown. */
export async function runCommandLine(
  words: readonly string[],
  deps: { readonly edge: Edge; readonly version: () => string },
): Promise<ExitCode> {
  const { edge, version } = deps;
  try {
    const program = await programFor(words, edge);
    if (words[0] === '--version' || words[0] === '-V') {
      edge.stdout.write(`${version()}\n`);
      return EXIT.ok;
    }
    await program.parseAsync(words, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    return report(error, edge);
  }
}

/** The program with the one command that is asked for, or with all of them for help and for suggestions. */
export async function programFor(words: readonly string[], edge: Edge): Promise<Command> {
  const program = new Command('turnstone')
    .description('Device agent: telemetry that is never lost, actuators that move exactly once')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => edge.stdout.write(text),
      writeErr: (text) => edge.stderr.write(text),
      getOutHelpWidth: () => edge.stdout.columns,
      getErrHelpWidth: () => edge.stderr.columns,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      outputError: (text, write) =>
        write(
          `turnstone: ${text
            .trim()
            .replace(/^error: /, '')
            .replace(/\s*\n\s*/g, ' ')}; see turnstone --help\n`,
        ),
    })
    .option('-V, --version', 'print the version')
    .addHelpText('after', EXAMPLES);
  const wanted = words[0] !== undefined && Object.hasOwn(COMMANDS, words[0]) ? [words[0]] : Object.keys(COMMANDS);
  if (words[0] === '--version' || words[0] === '-V') return program;
  for (const name of wanted) (await COMMANDS[name]?.())?.(program, edge);
  return program;
}

/** One line that says what is wrong and what to do next; a stack trace only for faults of the program itself. */
function report(error: unknown, edge: Edge): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof CommandError) {
    if (error.message !== '') edge.stderr.write(`turnstone: ${error.message}\n`);
    return error.exitCode;
  }
  if (hasCode(error, 'control-socket/interrupted')) return EXIT.interrupted;
  if (error instanceof AgentError) {
    edge.stderr.write(`turnstone: ${error.message}\n`);
    return exitCodeOf(error);
  }
  edge.stderr.write(`turnstone: fault of the program: ${error instanceof Error ? error.stack : String(error)}\n`);
  return EXIT.internal;
}

function exitCodeOf({ code, recovery }: AgentError): ExitCode {
  // systemd is to start it again: what is missing may come with a mount or a credential.
  if (code === 'config/not-now') return EXIT.failure;
  if (code === 'config/unreadable' && recovery === 'retry') return EXIT.unreadable;
  if (code.startsWith('config/')) return EXIT.badConfig;
  if (code === 'control-socket/not-running' || code === 'control-socket/lost') return EXIT.notRunning;
  return code === 'control-socket/no-permission' ? EXIT.noPermission : EXIT.failure;
}
