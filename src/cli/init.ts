/** Writes a first configuration: from a few questions, or flags, and a look at the buses; it passes check-config, and its sensors were read once. */

import { connect } from 'node:net';
import { dirname, resolve } from 'node:path';
import { faultLine } from '../config/fields/config-fault.ts';
import { readConfig } from '../config/read-config.ts';
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { openPorts } from '../hardware/open-ports.ts';
import { withinMs } from '../host/bounded-wait.ts';
import { systemClock } from '../host/clock.ts';
import type { Environment } from '../host/environment.ts';
import { makeFolder, systemFiles } from '../host/files.ts';
import { actAsOwnerOfWay } from '../host/folder-owner.ts';
import { thisHost } from '../host/machine.ts';
import { type FoundBoard, scanBoard } from '../scan/find-chips.ts';
import { listenOn } from '../scan/listen.ts';
import { serialCandidates } from '../scan/serial-guesses.ts';
import type { InitCall } from './commands/init.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT } from './exit-code.ts';
import { type FirstConfig, firstConfigText } from './first-config.ts';
import { askForFirstConfig } from './init-questions.ts';
import { markSilent, type TriedSensor, trySensors } from './init-trial.ts';
import type { Printer } from './printer.ts';
import { amountsOf, withProgress } from './progress.ts';
import { isShippedExample } from './shipped-example.ts';
import { expectReplaceable, WrittenFile } from './written-file.ts';

/** The service's group may read it. */
const CONFIG_MODE = 0o640;
/** At one speed, and at all of them. */
const LISTEN_MS = 2_000;
const MAX_LISTEN_MS = 10_000;
const BROKER_PORT = 1_883;
const BROKER_ANSWERS_WITHIN_MS = 500;

export async function initialise({ flags, edge, print, settings }: InitCall): Promise<void> {
  const out = resolve(flags.out);
  const isThere = (await systemFiles.facts(out).catch(() => undefined)) !== undefined;
  if (flags.force !== true && isThere && !(await isShippedExample(out, systemFiles)))
    throw new CommandError(`${out} is there already`, {
      nextStep: 'choose another --out, or overwrite it with --force',
    });
  await expectReplaceable(out);
  const answers = await askForFirstConfig({ flags, edge, settings }, dirname(out));
  const found = flags.scan
    ? await lookAround(flags, edge)
    : { chips: [], thermometers: [], serialPorts: [], faults: [] };
  const hasDevices = await asksForDevices(flags, edge, { ...answers, found });
  const atBroker = await asksForBroker(flags, edge);
  const text = firstConfigText({ ...answers, found, hasDevices, atBroker });
  const tried = await writeTried(out, text, { flags, edge });
  print.result({ file: out, found, tried }, () => summary(out, found, tried, print));
}

/** Asks once, and only where several meters can make themselves known to the platform. */
async function asksForDevices(
  { devices, yes }: InitCall['flags'],
  edge: Edge,
  { credentials, found }: FirstConfig,
): Promise<boolean> {
  const meters = found.serialPorts.flatMap(({ guesses = [] }) => guesses).length;
  if (devices === true || yes === true || meters < 2 || credentials.way !== 'provision') return devices === true;
  return /^y/i.test(await edge.ask(`${meters} meters were found: each a device of its own on the platform? [y/N] `));
}

/** Asks once, and only where a broker answers on this machine, which many gateways of radio sensors have. */
export async function asksForBroker(
  { yes, scan, simulate }: Pick<InitCall['flags'], 'yes' | 'scan' | 'simulate'>,
  edge: Edge,
  port = BROKER_PORT,
): Promise<FirstConfig['atBroker']> {
  if (yes === true || !scan || simulate !== undefined || !(await answers(port))) return undefined;
  const asks = `An MQTT broker answers at localhost:${port}: look for devices there? [y/N] `;
  if (!/^y/i.test((await edge.ask(asks)).trim())) return undefined;
  const { devicesAtBroker } = await import('./init-broker.ts');
  return await devicesAtBroker(port, edge);
}

/** True where something takes a connection. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: 'localhost', port, timeout: BROKER_ANSWERS_WITHIN_MS });
    const end = (isThere: boolean): void => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', () => end(false));
  });
}

/** Writes the configuration only when it passes check-config; its sensors are tried before. */
async function writeTried(
  out: string,
  text: string,
  { flags, edge }: Pick<InitCall, 'flags' | 'edge'>,
): Promise<readonly TriedSensor[]> {
  const environment = environmentOfService(flags, edge);
  const user = process.geteuid?.();
  await actAsOwnerOfWay(out);
  await makeFolder(dirname(out));
  const config = await withDraft(out, text, (draft) => checkedConfig(draft, out, environment));
  // Root that has become somebody else may not reach the buses.
  const isTried = flags.try && process.geteuid?.() === user;
  const tried = isTried ? await trySensors(config, edge) : [];
  await withDraft(out, markSilent(text, tried), async (draft, keep) => {
    await checkedConfig(draft, out, environment);
    await keep();
  });
  return tried;
}

async function withDraft<T>(
  out: string,
  text: string,
  work: (draft: string, keep: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const file = await WrittenFile.open(out, CONFIG_MODE);
  try {
    await file.write(text);
    return await work(file.draft, () => file.keep());
  } finally {
    await file.discard();
  }
}

/** @throws CommandError with every fault. */
async function checkedConfig(draft: string, out: string, environment: Environment): Promise<AgentConfig> {
  const { config, faults } = await readConfig(draft, { environment });
  if (config !== undefined) return config;
  const listed = faults.map((fault) => faultLine(out, fault)).join('\n');
  throw new CommandError(`these answers make no configuration:\n${listed}`, { exitCode: EXIT.badConfig });
}

/** The service may have a variable that this shell has not. */
function environmentOfService({ accessTokenEnv }: InitCall['flags'], { environment }: Edge): Environment {
  return accessTokenEnv === undefined ? environment : { [accessTokenEnv]: 'set-for-the-service', ...environment };
}

async function lookAround({ simulate, listen, out }: InitCall['flags'], edge: Edge): Promise<FoundBoard> {
  const hardware =
    simulate === undefined
      ? ({ board: 'linux', gpio: 'auto' } as const)
      : ({ board: 'simulated', gpio: 'auto', boardSocket: resolve(simulate) } as const);
  const ports = openPorts({ clock: systemClock, hardware });
  try {
    const found = await withProgress(edge.stderr, 'looking at the buses', (progress) =>
      scanBoard(ports, { onProgress: (done, total) => progress.update(done, total, amountsOf('buses')) }, edge.signal),
    );
    if (!listen || found.serialPorts.length === 0) return found;
    const candidates = await serialCandidates(resolve(out));
    const serialPorts = await withProgress(edge.stderr, 'listening on serial ports', (progress) => {
      const onProgress = (done: number): void =>
        progress.update((done * LISTEN_MS) / 1_000, MAX_LISTEN_MS / 1_000, amountsOf('s'));
      const hear = (within: AbortSignal) =>
        listenOn({ ...thisHost, ports }, found.serialPorts, { forMs: LISTEN_MS, candidates, onProgress }, within);
      return withinMs(systemClock, MAX_LISTEN_MS, hear, edge.signal);
    });
    edge.signal.throwIfAborted();
    return { ...found, serialPorts };
  } finally {
    await ports.close();
  }
}

function summary(
  out: string,
  { chips, thermometers, serialPorts, kernelDevices = [], faults }: FoundBoard,
  tried: readonly TriedSensor[],
  print: Printer,
): string {
  const { bold, yellow } = print.style;
  const kinds = chips.map(({ guess }) => guess?.kind ?? 'an unknown chip');
  const list = [
    ...kinds,
    ...thermometers.map((id) => `thermometer ${id}`),
    ...kernelDevices.map(({ chip, place }) => `${chip} at ${place}, read by the kernel`),
    ...serialPorts.map(({ path }) => `serial port ${path}`),
  ];
  const saw = list.length === 0 ? 'no chip, thermometer or serial port' : list.join(', ');
  const missed = faults.map((fault) => `${yellow('!')} not looked at: ${fault}\n`).join('');
  const read = tried.filter(({ fault }) => fault === undefined);
  const rows = read.map(({ name, readings }) => [
    'read',
    name,
    readings.map(({ key, text }) => `${key} ${text}`).join(', '),
  ]);
  const silent = tried.flatMap(({ name, fault, isOff }) => {
    const place = isOff === true ? 'it stands in the file as a comment' : 'it is marked in the file';
    return fault === undefined ? [] : [`${yellow('!')} ${name} gives no reading: ${fault}; ${place}\n`];
  });
  return `found   ${saw}\n${missed}${print.table(rows)}${silent.join('')}wrote   ${bold(out)}\nnext    sudo turnstone doctor --config ${out}\n        sudo systemctl enable turnstone\n        sudo systemctl restart turnstone\n`;
}
