/** Writes a first configuration: from a few questions, or flags, and a look at the buses; it passes check-config. */

import { dirname, join, resolve } from 'node:path';
import { faultLine } from '../config/fields/config-fault.ts';
import { readConfig } from '../config/read-config.ts';
import { openPorts } from '../hardware/open-ports.ts';
import { withinMs } from '../host/bounded-wait.ts';
import { systemClock } from '../host/clock.ts';
import { makeFolder } from '../host/durable-file.ts';
import type { Environment } from '../host/environment.ts';
import { systemFiles } from '../host/files.ts';
import { actAsOwnerOfWay } from '../host/folder-owner.ts';
import { given } from '../host/given.ts';
import type { InitCall } from './commands/init.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT, usageError } from './exit-code.ts';
import { type CredentialsChoice, type FirstConfig, firstConfigText } from './first-config.ts';
import { OutputFile, writeOutput } from './output-file.ts';
import type { Style } from './printer.ts';
import { withBar } from './printer.ts';
import { type FoundBoard, scanBoard } from './scan.ts';
import { listenOn } from './scan-serial.ts';
import { serialCandidates } from './serial-guesses.ts';

/** The service's group may read it. */
const CONFIG_MODE = 0o640;
/** At one speed, and at all of them. */
const LISTEN_MS = 2_000;
const MAX_LISTEN_MS = 10_000;

export async function initialise({ flags, edge, print, settings }: InitCall): Promise<void> {
  const out = resolve(flags.out);
  const isThere = (await systemFiles.facts(out).catch(() => undefined)) !== undefined;
  if (flags.force !== true && isThere)
    throw new CommandError(`${out} is there already`, { nextStep: 'choose another --out, or overwrite it with --force' });
  const answers = await askForFirstConfig({ flags, edge, settings }, dirname(out));
  const found = flags.scan ? await lookAround(flags, edge) : { chips: [], thermometers: [], serialPorts: [], faults: [] };
  const hasDevices = await asksForDevices(flags, edge, { ...answers, found });
  const text = firstConfigText({ ...answers, found, hasDevices });
  await writeChecked(out, text, environmentOfService(flags, edge));
  print.result({ file: out, found }, () => summary(out, found, print.style));
}

/** Asks once, and only where several meters can make themselves known to the platform. */
async function asksForDevices({ devices, yes }: InitCall['flags'], edge: Edge, { credentials, found }: FirstConfig): Promise<boolean> {
  const meters = found.serialPorts.flatMap(({ guesses = [] }) => guesses).length;
  if (devices === true || yes === true || meters < 2 || credentials.way !== 'provision') return devices === true;
  return /^y/i.test(await answer(edge, `${meters} meters were found: each a device of its own on the platform? [y/N] `));
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

async function lookAround({ simulate, listen, out }: InitCall['flags'], edge: Edge): Promise<FoundBoard> {
  const hardware =
    simulate === undefined
      ? ({ board: 'linux', gpio: 'auto' } as const)
      : ({ board: 'simulated', gpio: 'auto', boardSocket: resolve(simulate) } as const);
  const ports = openPorts({ clock: systemClock, hardware });
  try {
    const found = await withBar(edge.stderr, 'looking at the buses', (bar) =>
      scanBoard(ports, { onProgress: (done, total) => bar.update(done, total, (amount) => `${amount} buses`) }, edge.signal),
    );
    if (!listen || found.serialPorts.length === 0) return found;
    const candidates = await serialCandidates(resolve(out));
    const serialPorts = await withBar(edge.stderr, 'listening on serial ports', (bar) => {
      const onProgress = (done: number): void => bar.update(done * LISTEN_MS, MAX_LISTEN_MS, (amount) => `${amount / 1_000} s`);
      const hear = (within: AbortSignal) => listenOn(ports, found.serialPorts, { forMs: LISTEN_MS, candidates, onProgress }, within);
      return withinMs(systemClock, MAX_LISTEN_MS, hear, edge.signal);
    });
    edge.signal.throwIfAborted();
    return { ...found, serialPorts };
  } finally {
    await ports.close();
  }
}

function summary(out: string, { chips, thermometers, serialPorts, faults }: FoundBoard, { bold, yellow }: Style): string {
  const kinds = chips.map(({ guess }) => guess?.kind ?? 'an unknown chip');
  const list = [...kinds, ...thermometers.map((id) => `thermometer ${id}`), ...serialPorts.map(({ path }) => `serial port ${path}`)];
  const saw = list.length === 0 ? 'no chip, thermometer or serial port' : list.join(', ');
  const missed = faults.map((fault) => `${yellow('!')} not looked at: ${fault}\n`).join('');
  return `found   ${saw}\n${missed}wrote   ${bold(out)}\nnext    turnstone doctor --config ${out}\n        systemctl enable --now turnstone\n`;
}

type Told = Pick<InitCall, 'flags' | 'edge' | 'settings'>;
/** The file in which an answer that is typed is kept; nothing typed takes the usual file. */
type KeepSecret = (name: string, question: string, usualFile?: string) => Promise<string>;

const DEFAULT_NAME = 'gateway-{serial|mac}';
/** Typed secrets are kept beside the configuration, for the service's group to read. */
const SECRET_MODE = 0o640;

/** Everything but what the buses show. @throws CommandError (usage) when something is missing and nobody can be asked. */
export async function askForFirstConfig(told: Told, folder: string): Promise<Omit<FirstConfig, 'found'>> {
  const { flags, edge, settings } = told;
  const asks = flags.yes !== true;
  const asFlags = 'say --yes and give --url and credentials as flags; see turnstone init --help';
  if (asks && !edge.isInteractive) throw usageError('nobody can be asked here', { nextStep: asFlags });
  const usualUrl = settings['platform.url'] ?? '';
  const url =
    flags.url ?? (asks ? await answer(edge, `Address of the platform${inBrackets(usualUrl, ' (https://…)')}: `, usualUrl) : usualUrl);
  if (url === '') throw usageError('the address of the platform is missing', { nextStep: 'give it as --url' });
  const keep = secretKeeper(edge, folder);
  const credentials = chosen(told) ?? (asks ? await askForCredentials(told, keep) : unasked(told));
  const statusPage = await statusPageOf(told, asks ? keep : undefined);
  const [caFile, stateFolder, runFolder, boardSocket] = [flags.caFile, flags.stateFolder, flags.runFolder, flags.simulate].map((path) =>
    path === undefined ? undefined : resolve(path),
  );
  return given({ url, credentials, caFile, statusPage, stateFolder, runFolder, boardSocket });
}

/** Credentials by the flags, a setting for the other half of provisioning; undefined when the flags name none. */
function chosen({ flags, settings }: Told): CredentialsChoice | undefined {
  const { accessTokenFile, accessTokenEnv, provisionKeyFile, provisionSecretFile } = flags;
  if (accessTokenFile !== undefined) return { way: 'token-file', file: resolve(accessTokenFile) };
  if (accessTokenEnv !== undefined) return { way: 'token-variable', variable: accessTokenEnv };
  if (provisionKeyFile === undefined && provisionSecretFile === undefined) return undefined;
  const [key, secret] = [
    provisionKeyFile ?? settings['provisioning.deviceKeyFile'],
    provisionSecretFile ?? settings['provisioning.deviceSecretFile'],
  ];
  if (key === undefined || secret === undefined)
    throw usageError('provisioning needs a key and a secret', { nextStep: 'give both --provision-key-file and --provision-secret-file' });
  return { way: 'provision', keyFile: resolve(key), secretFile: resolve(secret), deviceName: flags.name ?? usualName(settings) };
}

function unasked({ flags, settings }: Told): CredentialsChoice {
  const { 'provisioning.deviceKeyFile': keyFile, 'provisioning.deviceSecretFile': secretFile } = settings;
  if (keyFile === undefined || secretFile === undefined) return { way: 'later' };
  return { way: 'provision', keyFile, secretFile, deviceName: flags.name ?? usualName(settings) };
}

async function askForCredentials({ flags, edge, settings }: Told, keep: KeepSecret): Promise<CredentialsChoice> {
  const way = await answer(edge, 'Does the device (p)rovision itself, or has it a (t)oken, or comes that (l)ater? [p] ');
  if (/^l/i.test(way)) return { way: 'later' };
  if (/^t/i.test(way)) return { way: 'token-file', file: await keep('access-token', 'Access token') };
  const keyFile = await keep('provision-key', 'Provision key of the device profile', settings['provisioning.deviceKeyFile']);
  const secretFile = await keep('provision-secret', 'Provision secret', settings['provisioning.deviceSecretFile']);
  const name = usualName(settings);
  return { way: 'provision', keyFile, secretFile, deviceName: flags.name ?? (await answer(edge, `Device name [${name}]: `, name)) };
}

/** Nothing is asked about the page; but one on the network needs a PIN, and that is asked for where no file has it. */
async function statusPageOf({ flags, settings }: Told, keep: KeepSecret | undefined): Promise<FirstConfig['statusPage']> {
  const page = flags.page ?? settings['status.page'];
  const pinFile = flags.pinFile ?? settings['status.pinFile'];
  if (pinFile !== undefined) return { page: page ?? 'loopback', pinFile: resolve(pinFile) };
  if (page !== 'lan') return page === undefined ? undefined : { page };
  if (keep === undefined) throw usageError('a status page on the network needs a PIN', { nextStep: 'give --pin-file, or another --page' });
  return { page, pinFile: await keep('pin', 'PIN of the status page') };
}

function secretKeeper(edge: Edge, folder: string): KeepSecret {
  return async (name, question, usualFile) => {
    const secret = (await edge.ask(`${question}${inBrackets(usualFile)}: `, { hidden: true })).trim();
    if (secret === '' && usualFile !== undefined) return usualFile;
    if (secret === '') throw usageError('nothing was typed', { nextStep: 'start again' });
    const file = join(folder, name);
    await makeFolder(folder);
    await writeOutput(file, `${secret}\n`, SECRET_MODE);
    return file;
  };
}

function usualName(settings: Told['settings']): string {
  return settings['provisioning.deviceName'] ?? DEFAULT_NAME;
}

/** The answer that Enter gives, as a question shows it. */
function inBrackets(usual = '', otherwise = ''): string {
  return usual === '' ? otherwise : ` [${usual}]`;
}

async function answer(edge: Edge, question: string, usual = ''): Promise<string> {
  return (await edge.ask(question)).trim() || usual;
}
