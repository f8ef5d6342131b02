/** `turnstone init`: a few questions, or flags; a look at the buses; a configuration that passes check-config. */
import { access } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { faultLine } from '../config/config-fault.ts';
import { DEFAULT_CONFIG_FILE } from '../config/peek-folders.ts';
import { readConfig } from '../config/read-config.ts';
import { openPorts } from '../hardware/open-ports.ts';
import { systemClock } from '../host/clock.ts';
import { makeFolder } from '../host/durable-file.ts';
import type { Environment } from '../host/environment.ts';
import { actAsOwnerOfWay } from '../host/folder-owner.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT } from './exit-code.ts';
import { firstConfigText } from './first-config.ts';
import { askForFirstConfig, type InitFlags } from './init-questions.ts';
import { OutputFile } from './output-file.ts';
import { ProgressBar } from './progress-bar.ts';
import { type FoundBoard, scanBoard } from './scan-board.ts';
import { styleFor } from './style.ts';

const EXAMPLES = `
Examples:
  $ turnstone init
  $ turnstone init --yes --url https://iot.example.org --provision-key-file key --provision-secret-file secret
  $ turnstone init --yes --url https://iot.example.org --access-token-file /etc/turnstone/token --out gateway.yaml

Secrets are never arguments: they come from a prompt, a file or an environment variable.

To tell I2C chips apart a register of each that answers is read. A few simple converters, expanders and bus switches have none and take the
register’s number for a setting: where one of them drives something, say --no-scan, and look with turnstone scan i2c --addresses-only.`;

/** The service's group may read it. */
const CONFIG_MODE = 0o640;

export function addInitCommand(program: Command, edge: Edge): void {
  program
    .command('init')
    .description('write a first configuration: asks a few questions and looks at the buses')
    .option('--yes', 'ask nothing: flags and defaults decide')
    .option('--url <url>', 'address of the platform')
    .option('--access-token-file <file>', 'the device’s access token, in a file')
    .option('--access-token-env <name>', 'the device’s access token, in an environment variable of the service')
    .option('--provision-key-file <file>', 'the device profile’s provision key, in a file')
    .option('--provision-secret-file <file>', 'the device profile’s provision secret, in a file')
    .option('--name <template>', 'device name for provisioning, from {serial}, {mac}, {machineId}, {hostname}')
    .option('--ca-file <file>', 'certificate authority of the platform')
    .option('--state-folder <folder>', 'where everything that must survive is kept')
    .option('--run-folder <folder>', 'where control sockets are')
    .option('--simulate <socket>', 'look at a simulated board, and use it')
    .option('--no-scan', 'do not look at the buses')
    .option('--out <file>', 'the file to write', DEFAULT_CONFIG_FILE)
    .option('--force', 'overwrite it')
    .option('--json', 'print what was found and written as JSON')
    .addHelpText('after', EXAMPLES)
    .action((flags: InitFlags) => initialise(flags, edge));
}

async function initialise(flags: InitFlags, edge: Edge): Promise<void> {
  const out = resolve(flags.out);
  if (flags.force !== true && (await exists(out)))
    throw new CommandError(`${out} is there already`, { nextStep: 'choose another --out, or overwrite it with --force' });
  const answers = await askForFirstConfig(flags, edge, dirname(out));
  const found = flags.scan ? await lookAround(flags, edge) : { chips: [], thermometers: [], serialPorts: [], faults: [] };
  const text = firstConfigText({ ...answers, found });
  await writeChecked(out, text, environmentOfService(flags, edge));
  if (flags.json === true) edge.stdout.write(`${JSON.stringify({ file: out, found })}\n`);
  else edge.stdout.write(summary(out, found, edge));
}

/** What is written passes check-config, or is not written. */
async function writeChecked(out: string, text: string, environment: Environment): Promise<void> {
  await actAsOwnerOfWay(out);
  await makeFolder(dirname(out));
  const file = await OutputFile.open(out, CONFIG_MODE);
  try {
    await file.write(text);
    const { faults } = await readConfig(file.draft, { environment });
    if (faults.length > 0) {
      const listed = faults.map((fault) => faultLine(out, fault)).join('\n');
      throw new CommandError(`these answers make no configuration:\n${listed}`, { exitCode: EXIT.badConfig });
    }
    await file.keep();
  } finally {
    await file.discard();
  }
}

/** The service may have a variable that this shell has not. */
function environmentOfService({ accessTokenEnv }: InitFlags, { environment }: Edge): Environment {
  return accessTokenEnv === undefined ? environment : { [accessTokenEnv]: 'set-for-the-service', ...environment };
}

async function lookAround({ simulate }: InitFlags, edge: Edge): Promise<FoundBoard> {
  const hardware =
    simulate === undefined
      ? ({ board: 'linux', gpio: 'auto' } as const)
      : ({ board: 'simulated', gpio: 'auto', boardSocket: resolve(simulate) } as const);
  const ports = openPorts({ clock: systemClock, hardware });
  const bar = new ProgressBar(edge.stderr, 'looking at the buses');
  try {
    return await scanBoard(ports, { onProgress: (done, total) => bar.update(done, total, (amount) => `${amount} buses`) }, edge.signal);
  } finally {
    bar.end();
    await ports.close();
  }
}

function summary(out: string, { chips, thermometers, serialPorts, faults }: FoundBoard, edge: Edge): string {
  const { bold, yellow } = styleFor(edge.stdout, edge.environment);
  const kinds = chips.map(({ guess }) => guess?.kind ?? 'an unknown chip');
  const list = [...kinds, ...thermometers.map((id) => `thermometer ${id}`), ...serialPorts.map(({ path }) => `serial port ${path}`)];
  const saw = list.length === 0 ? 'no chip, thermometer or serial port' : list.join(', ');
  const missed = faults.map((fault) => `${yellow('!')} not looked at: ${fault}\n`).join('');
  return `found   ${saw}\n${missed}wrote   ${bold(out)}\nnext    turnstone doctor --config ${out}\n        systemctl enable --now turnstone\n`;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
