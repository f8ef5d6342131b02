/** What `turnstone init` must know: from flags, from the technician, or from defaults, in this order. */
import { join, resolve } from 'node:path';
import { makeFolder } from '../host/durable-file.ts';
import { given } from '../host/given.ts';
import type { InitCall } from './commands/init.ts';
import type { Edge } from './edge.ts';
import { usageError } from './exit-code.ts';
import type { CredentialsChoice, FirstConfig } from './first-config.ts';
import { writeOutput } from './output-file.ts';

type InitFlags = InitCall['flags'];

const DEFAULT_NAME = 'gateway-{serial|mac}';
/** Typed secrets are kept beside the configuration, for the service's group to read. */
const SECRET_MODE = 0o640;

/** Everything but what the buses show. @throws CommandError (usage) when something is missing and nobody can be asked. */
export async function askForFirstConfig(flags: InitFlags, edge: Edge, folder: string): Promise<Omit<FirstConfig, 'found'>> {
  const asks = flags.yes !== true;
  const asFlags = 'say --yes and give --url and credentials as flags; see turnstone init --help';
  if (asks && !edge.isInteractive) throw usageError('nobody can be asked here', { nextStep: asFlags });
  const url = flags.url ?? (asks ? await answer(edge, 'Address of the platform (https://…): ') : '');
  if (url === '') throw usageError('the address of the platform is missing', { nextStep: 'give it as --url' });
  const credentials = chosen(flags) ?? (asks ? await askForCredentials(flags, edge, folder) : ({ way: 'later' } as const));
  const [caFile, stateFolder, runFolder, boardSocket] = [flags.caFile, flags.stateFolder, flags.runFolder, flags.simulate].map((path) =>
    path === undefined ? undefined : resolve(path),
  );
  return given({ url, credentials, caFile, stateFolder, runFolder, boardSocket });
}

/** What flags say about credentials; undefined when they say nothing. */
function chosen(flags: InitFlags): CredentialsChoice | undefined {
  const { accessTokenFile, accessTokenEnv, provisionKeyFile, provisionSecretFile } = flags;
  if (accessTokenFile !== undefined) return { way: 'token-file', file: resolve(accessTokenFile) };
  if (accessTokenEnv !== undefined) return { way: 'token-variable', variable: accessTokenEnv };
  if (provisionKeyFile === undefined && provisionSecretFile === undefined) return undefined;
  if (provisionKeyFile === undefined || provisionSecretFile === undefined)
    throw usageError('provisioning needs a key and a secret', { nextStep: 'give both --provision-key-file and --provision-secret-file' });
  const [keyFile, secretFile] = [resolve(provisionKeyFile), resolve(provisionSecretFile)];
  return { way: 'provision', keyFile, secretFile, deviceName: flags.name ?? DEFAULT_NAME };
}

async function askForCredentials(flags: InitFlags, edge: Edge, folder: string): Promise<CredentialsChoice> {
  const way = await answer(edge, 'Does the device (p)rovision itself, or has it a (t)oken, or comes that (l)ater? [p] ');
  const keep = async (name: string, question: string): Promise<string> => {
    const secret = await edge.ask(question, { hidden: true });
    if (secret.trim() === '') throw usageError('nothing was typed', { nextStep: 'start again' });
    const file = join(folder, name);
    await makeFolder(folder);
    await writeOutput(file, `${secret.trim()}\n`, SECRET_MODE);
    return file;
  };
  if (/^l/i.test(way)) return { way: 'later' };
  if (/^t/i.test(way)) return { way: 'token-file', file: await keep('access-token', 'Access token: ') };
  const keyFile = await keep('provision-key', 'Provision key of the device profile: ');
  const secretFile = await keep('provision-secret', 'Provision secret: ');
  const deviceName = flags.name ?? ((await answer(edge, `Device name [${DEFAULT_NAME}]: `)) || DEFAULT_NAME);
  return { way: 'provision', keyFile, secretFile, deviceName };
}

async function answer(edge: Edge, question: string): Promise<string> {
  return (await edge.ask(question)).trim();
}
