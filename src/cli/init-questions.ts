/** The questions of a first configuration: each answer is judged as it is given, and asked for again until it will do. */
import { join, resolve } from 'node:path';
import { ACCESS_TOKEN, url as httpUrl, PLAIN_SECRET, type SecretRule } from '../config/fields/fields.ts';
import { deviceNameTemplate } from '../config/schema/platform.ts';
import { deviceNameOf } from '../devices/device-name.ts';
import { messageOf } from '../errors/agent-error.ts';
import { makeFolder } from '../host/files.ts';
import { readIdentity } from '../host/identity.ts';
import { printable } from '../names/printable.ts';
import { type TriedPlatform, tryPlatform } from './ask-platform.ts';
import type { InitCall } from './commands/init.ts';
import type { Edge } from './edge.ts';
import { usageError } from './exit-code.ts';
import type { CredentialsChoice, FirstConfig } from './first-config.ts';
import { withProgress } from './progress.ts';
import { writeOutput } from './written-file.ts';

type Told = Pick<InitCall, 'flags' | 'edge' | 'settings'>;
/** Fault of an answer; undefined for one that will do. */
type Judge = (answer: string) => Promise<string | undefined> | string | undefined;

interface Question {
  /** Subject of the error when nobody answers. */
  readonly subject: string;
  readonly asks: string;
  /** The answer that Enter gives. */
  readonly usual?: string;
  readonly hidden?: boolean;
  readonly judge: Judge;
}

const DEFAULT_NAME = 'gateway-{serial|mac}';
/** Typed secrets are kept beside the configuration, for the service's group to read. */
const SECRET_MODE = 0o640;
/** Nobody is there, or nobody knows. */
const MAX_EMPTY_ANSWERS = 3;

/** Everything but what the buses show. @throws CommandError (usage) when something is missing and nobody can be asked, or nobody answers. */
export async function askForFirstConfig(told: Told, folder: string): Promise<Omit<FirstConfig, 'found'>> {
  const { flags, edge, settings } = told;
  const asks = flags.yes !== true;
  const asFlags = 'say --yes and give --url and credentials as flags; see turnstone init --help';
  if (asks && !edge.isInteractive) throw usageError('nobody can be asked here', { nextStep: asFlags });
  const [caFile, stateFolder, runFolder, boardSocket] = [
    flags.caFile,
    flags.stateFolder,
    flags.runFolder,
    flags.simulate,
  ].map((path) => (path === undefined ? undefined : resolve(path)));
  const questions = new Questions(told, folder, { caFile, runFolder });
  const url = flags.url ?? (asks ? await questions.url() : (settings['platform.url'] ?? ''));
  if (url === '') throw usageError('the address of the platform is missing', { nextStep: 'give it as --url' });
  const credentials = chosen(told) ?? (asks ? await questions.credentials(url) : unasked(told));
  const statusPage = await statusPageOf(told, asks ? questions : undefined);
  const remoteConfiguration = flags.remoteConfiguration === true || (asks && (await mayChangeFromAfar(edge)));
  return { url, credentials, caFile, statusPage, stateFolder, runFolder, boardSocket, remoteConfiguration };
}

async function mayChangeFromAfar(edge: Edge): Promise<boolean> {
  return /^y/i.test(
    (
      await edge.ask('May this configuration be changed from afar? Each change is tried, with a way back. [y/N] ')
    ).trim(),
  );
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
    throw usageError('provisioning needs a key and a secret', {
      nextStep: 'give both --provision-key-file and --provision-secret-file',
    });
  return {
    way: 'provision',
    keyFile: resolve(key),
    secretFile: resolve(secret),
    deviceName: flags.name ?? usualName(settings),
  };
}

function unasked({ flags, settings }: Told): CredentialsChoice {
  const { 'provisioning.deviceKeyFile': keyFile, 'provisioning.deviceSecretFile': secretFile } = settings;
  if (keyFile === undefined || secretFile === undefined) return { way: 'later' };
  return { way: 'provision', keyFile, secretFile, deviceName: flags.name ?? usualName(settings) };
}

/** Nothing is asked about the page; but one on the network needs a PIN, and that is asked for where no file has it. */
async function statusPageOf(
  { flags, settings }: Told,
  questions: Questions | undefined,
): Promise<FirstConfig['statusPage']> {
  const page = flags.page ?? settings['status.page'];
  const pinFile = flags.pinFile ?? settings['status.pinFile'];
  if (pinFile !== undefined) return { page: page ?? 'loopback', pinFile: resolve(pinFile) };
  if (page !== 'lan') return page === undefined ? undefined : { page };
  if (questions === undefined)
    throw usageError('a status page on the network needs a PIN', { nextStep: 'give --pin-file, or another --page' });
  return { page, pinFile: await questions.secret('pin', 'PIN of the status page', PLAIN_SECRET) };
}

/** Questions that depend on each other: a token is tried at the address that was given before it. */
class Questions {
  readonly #told: Told;
  readonly #folder: string;
  readonly #places: { readonly caFile?: string; readonly runFolder?: string };
  /** Undefined until it was asked. */
  #platform: TriedPlatform | undefined;

  constructor(told: Told, folder: string, places: { readonly caFile?: string; readonly runFolder?: string }) {
    this.#told = told;
    this.#folder = folder;
    this.#places = places;
  }

  url(): Promise<string> {
    const usual = this.#told.settings['platform.url'] ?? '';
    const judge = async (url: string): Promise<string | undefined> => {
      const fault = faultOfForm(httpUrl(), url);
      if (fault !== undefined || !this.#told.flags.try) return fault;
      const { isReached, fault: why = '' } = await this.#tryPlatform(url);
      if (isReached) this.#say('the platform answers');
      return isReached || (await this.#isKept(why)) ? undefined : '';
    };
    const asks = `Address of the platform${inBrackets(usual, ' (https://…)')}: `;
    return this.#ask({ subject: 'the address of the platform', asks, usual, judge });
  }

  async credentials(url: string): Promise<CredentialsChoice> {
    const { flags, edge, settings } = this.#told;
    const way = (
      await edge.ask('Does the device (p)rovision itself, or has it a (t)oken, or comes that (l)ater? [p] ')
    ).trim();
    if (/^l/i.test(way)) return { way: 'later' };
    if (/^t/i.test(way)) {
      if (flags.try) this.#platform ??= await this.#tryPlatform(url);
      const isKnown = (token: string): Promise<string | undefined> => this.#faultOfToken(url, token);
      return {
        way: 'token-file',
        file: await this.secret('access-token', 'Access token', ACCESS_TOKEN, { judge: isKnown }),
      };
    }
    const { 'provisioning.deviceKeyFile': usualKey, 'provisioning.deviceSecretFile': usualSecret } = settings;
    const keyFile = await this.secret('provision-key', 'Provision key of the device profile', PLAIN_SECRET, {
      usualFile: usualKey,
    });
    const secretFile = await this.secret('provision-secret', 'Provision secret', PLAIN_SECRET, {
      usualFile: usualSecret,
    });
    return { way: 'provision', keyFile, secretFile, deviceName: flags.name ?? (await this.#deviceName()) };
  }

  /** The file in which a secret that is typed is kept; nothing typed takes the usual file. */
  async secret(
    name: string,
    words: string,
    rule: SecretRule,
    { usualFile, judge = () => undefined }: { readonly usualFile?: string; readonly judge?: Judge } = {},
  ): Promise<string> {
    const typed = await this.#ask({
      subject: words,
      asks: `${words}${inBrackets(usualFile)}: `,
      hidden: true,
      usual: usualFile ?? '',
      // The name of the usual file is no secret.
      judge: (secret) =>
        secret === usualFile ? undefined : rule.isGood(secret) ? judge(secret) : `expected ${rule.expected}`,
    });
    if (typed === usualFile) return usualFile;
    const file = join(this.#folder, name);
    await makeFolder(this.#folder);
    await writeOutput(file, `${typed}\n`, SECRET_MODE);
    return file;
  }

  #deviceName(): Promise<string> {
    const usual = usualName(this.#told.settings);
    const judge = async (template: string): Promise<string | undefined> => {
      const fault = faultOfForm(deviceNameTemplate(), template) ?? faultOfName(template, EVERYTHING);
      if (fault !== undefined || !this.#told.flags.try) return fault;
      const board = await readIdentity(this.#places);
      const impossible = faultOfName(template, board);
      if (impossible !== undefined)
        return (await this.#isKept(`${impossible}; choose others, or keep it for another board`)) ? undefined : '';
      this.#say(`this board is ${deviceNameOf(template, board)}`);
      return undefined;
    };
    return this.#ask({ subject: 'the device name', asks: `Device name [${usual}]: `, usual, judge });
  }

  async #faultOfToken(url: string, accessToken: string): Promise<string | undefined> {
    if (this.#platform?.isReached !== true) return undefined;
    const { isReached, fault } = await this.#tryPlatform(url, accessToken);
    // The way there may be cut meanwhile, which says nothing about the token.
    if (isReached && fault !== undefined) return fault;
    if (isReached) this.#say('the platform knows this token');
    return undefined;
  }

  async #tryPlatform(url: string, accessToken?: string): Promise<TriedPlatform> {
    const { caFile } = this.#places;
    const { stderr, signal } = this.#told.edge;
    const tried = await withProgress(stderr, 'platform', (progress) => {
      progress.step('asking …');
      return tryPlatform(
        {
          url,
          caFile,
          accessToken,
        },
        signal,
      );
    });
    if (accessToken === undefined) this.#platform = tried;
    return tried;
  }

  async #isKept(why: string): Promise<boolean> {
    this.#say(why);
    return /^y/i.test((await this.#told.edge.ask('  keep it all the same? [y/N] ')).trim());
  }

  /** @throws CommandError (usage) after a few empty answers, one after the other. */
  async #ask({ subject, asks, usual = '', hidden = false, judge }: Question): Promise<string> {
    const { edge } = this.#told;
    for (let empty = 0; empty < MAX_EMPTY_ANSWERS; ) {
      edge.signal.throwIfAborted();
      const typed = (await edge.ask(asks, { hidden })).trim();
      empty = typed === '' ? empty + 1 : 0;
      const answer = typed || usual;
      const fault = answer === '' ? 'nothing was typed' : await judge(answer);
      if (fault === undefined) return answer;
      if (fault !== '') this.#say(fault);
    }
    const nextStep = 'start again, or give it as a flag; see turnstone init --help';
    throw usageError(`${subject} is missing: nothing was typed ${MAX_EMPTY_ANSWERS} times`, { nextStep });
  }

  #say(text: string): void {
    this.#told.edge.stderr.write(`  ${printable(text)}\n`);
  }
}

/** A board that has all that a name can be made of. */
const EVERYTHING = { serial: 's', mac: 'm', machineId: 'i', hostname: 'h' };

function faultOfName(template: string, board: Parameters<typeof deviceNameOf>[1]): string | undefined {
  try {
    deviceNameOf(template, board);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

interface Form {
  safeParse(value: string): {
    readonly error?: { readonly issues: readonly { readonly message: string }[] } | undefined;
  };
}

function faultOfForm(form: Form, value: string): string | undefined {
  const [issue] = form.safeParse(value).error?.issues ?? [];
  return issue === undefined ? undefined : `expected ${issue.message}`;
}

function usualName(settings: Told['settings']): string {
  return settings['provisioning.deviceName'] ?? DEFAULT_NAME;
}

/** The answer that Enter gives, as a question shows it. */
function inBrackets(usual = '', otherwise = ''): string {
  return usual === '' ? otherwise : ` [${usual}]`;
}
