/** Writes a first configuration: from a few questions, or flags, and a look at the buses; it passes check-config. */
import { dirname, resolve } from 'node:path';
import { faultLine } from '../config/fields/config-fault.ts';
import { readConfig } from '../config/read-config.ts';
import { openPorts } from '../hardware/open-ports.ts';
import { systemClock } from '../host/clock.ts';
import { makeFolder } from '../host/durable-file.ts';
import type { Environment } from '../host/environment.ts';
import { systemFiles } from '../host/files.ts';
import { actAsOwnerOfWay } from '../host/folder-owner.ts';
import type { InitCall } from './commands/init.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT } from './exit-code.ts';
import { firstConfigText } from './first-config.ts';
import { askForFirstConfig } from './init-questions.ts';
import { OutputFile } from './output-file.ts';
import type { Style } from './printer.ts';
import { withBar } from './progress-bar.ts';
import { type FoundBoard, scanBoard } from './scan-board.ts';

/** The service's group may read it. */
const CONFIG_MODE = 0o640;

export async function initialise({ flags, edge, print, settings }: InitCall): Promise<void> {
  const out = resolve(flags.out);
  const isThere = (await systemFiles.facts(out).catch(() => undefined)) !== undefined;
  if (flags.force !== true && isThere)
    throw new CommandError(`${out} is there already`, { nextStep: 'choose another --out, or overwrite it with --force' });
  const answers = await askForFirstConfig({ flags, edge, settings }, dirname(out));
  const found = flags.scan ? await lookAround(flags, edge) : { chips: [], thermometers: [], serialPorts: [], faults: [] };
  const text = firstConfigText({ ...answers, found });
  await writeChecked(out, text, environmentOfService(flags, edge));
  print.result({ file: out, found }, () => summary(out, found, print.style));
}

/** Writes the configuration only when it passes check-config. */
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
function environmentOfService({ accessTokenEnv }: InitCall['flags'], { environment }: Edge): Environment {
  return accessTokenEnv === undefined ? environment : { [accessTokenEnv]: 'set-for-the-service', ...environment };
}

async function lookAround({ simulate }: InitCall['flags'], edge: Edge): Promise<FoundBoard> {
  const hardware =
    simulate === undefined
      ? ({ board: 'linux', gpio: 'auto' } as const)
      : ({ board: 'simulated', gpio: 'auto', boardSocket: resolve(simulate) } as const);
  const ports = openPorts({ clock: systemClock, hardware });
  return withBar(edge.stderr, 'looking at the buses', (bar) =>
    scanBoard(ports, { onProgress: (done, total) => bar.update(done, total, (amount) => `${amount} buses`) }, edge.signal),
  ).finally(() => ports.close());
}

function summary(out: string, { chips, thermometers, serialPorts, faults }: FoundBoard, { bold, yellow }: Style): string {
  const kinds = chips.map(({ guess }) => guess?.kind ?? 'an unknown chip');
  const list = [...kinds, ...thermometers.map((id) => `thermometer ${id}`), ...serialPorts.map(({ path }) => `serial port ${path}`)];
  const saw = list.length === 0 ? 'no chip, thermometer or serial port' : list.join(', ');
  const missed = faults.map((fault) => `${yellow('!')} not looked at: ${fault}\n`).join('');
  return `found   ${saw}\n${missed}wrote   ${bold(out)}\nnext    turnstone doctor --config ${out}\n        systemctl enable --now turnstone\n`;
}
