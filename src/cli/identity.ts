/** `turnstone identity …`: who this device is, moving it to another board, and replacing its secrets without a gap. */

import { constants } from 'node:fs';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { FORMER_QUEUE } from '../agent/former-queue.ts';
import { messageOf, systemCode } from '../errors.ts';
import { PRIVATE_MODE, writeDurably } from '../host/durable-file.ts';
import { systemFiles } from '../host/files.ts';
import { isJsonObject, type JsonObject, type JsonValue, stringifyJson } from '../host/json.ts';
import { systemRandomBytes } from '../host/random.ts';
import { makeAccessToken } from '../provisioning/access-token.ts';
import type { AgentFlags } from './agent-connection.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT } from './exit-code.ts';
import { addIdentityOptions, type IdentityAccess, openIdentity, secretFrom } from './identity-access.ts';
import { printable } from './style.ts';
import { columns } from './table.ts';

const EXAMPLES = `
Examples:
  $ turnstone identity show
  $ turnstone identity export gateway-7.identity       on the old board, kept in a safe place
  $ turnstone identity import gateway-7.identity       on the new board: it takes the old one's place
  $ turnstone identity adopt                           the card was moved to this board for good
  $ turnstone identity forget --yes                    provision anew at the next start
  $ turnstone identity rotate-token --make             prints a new token; then enter it at the platform

Passphrases and tokens are asked for, or come from files; never from the command line.`;

/** The platform alone knows: a file of long ago has a lower number than the boards that came since. */
const MOVED_SINCE =
  'should turnstone status say that the device was moved to another board since the file was written: turnstone identity adopt, here\n';

/** What changes who the agent is while it runs. */
const TAKEN_UP_BY_RESTART: ReadonlySet<string> = new Set(['importIdentity', 'adoptIdentity', 'forgetIdentity']);

/** Adds one subcommand with the options that all of them have. */
type AddSubcommand = (name: string, description: string) => Command;

export function addIdentityCommand(program: Command, edge: Edge): void {
  const group = program.command('identity').description('show, move and renew the identity of this device').addHelpText('after', EXAMPLES);
  const add: AddSubcommand = (name, description) => addIdentityOptions(group.command(name).description(description));
  addShow(add, edge);
  addMoves(add, edge);
  addRotations(add, edge);
}

function addShow(add: AddSubcommand, edge: Edge): void {
  add('show', 'what this board and its credentials are; no secret')
    .option('--json', 'print it as JSON')
    .action(async (flags: AgentFlags & { readonly json?: boolean }) => {
      const shown = await ask(flags, edge, 'showIdentity');
      edge.stdout.write(flags.json === true ? `${stringifyJson(shown)}\n` : columns(rowsOf(shown), edge.stdout.columns));
    });
}

function addMoves(add: AddSubcommand, edge: Edge): void {
  add('export <file>', 'write the identity to a file, under a passphrase')
    .option('--passphrase-file <file>', 'the passphrase, from a file')
    .action(async (file: string, flags: AgentFlags & { readonly passphraseFile?: string }) => {
      const passphrase = await secretFrom(flags.passphraseFile, 'Passphrase: ', edge);
      if (flags.passphraseFile === undefined && edge.isInteractive && (await secretFrom(undefined, 'Once more: ', edge)) !== passphrase)
        throw new CommandError('the two passphrases differ', { exitCode: EXIT.usage });
      const target = await openTarget(file);
      const answer = await ask(flags, edge, 'exportIdentity', { passphrase }).catch(async (error: unknown) => {
        await target.discard();
        throw error;
      });
      await target.write(textIn(answer, 'text'));
      edge.stdout.write(`written to ${file}; whoever has it and the passphrase is this device\n`);
    });
  add('import <file>', "take another board's place")
    .option('--passphrase-file <file>', 'the passphrase, from a file')
    .option('--replace', "give up this board's own identity")
    .action(async (file: string, flags: AgentFlags & { readonly passphraseFile?: string; readonly replace?: boolean }) => {
      const text = await readFile(file, 'utf8').catch((cause: unknown) => {
        throw new CommandError(`cannot read ${file}: ${systemCode(cause)}`, { exitCode: EXIT.usage, cause });
      });
      const passphrase = await secretFrom(flags.passphraseFile, 'Passphrase: ', edge);
      const moved = await ask(flags, edge, 'importIdentity', { text, passphrase, replace: flags.replace === true });
      const name = isJsonObject(moved) && typeof moved.deviceName === 'string' ? ` "${printable(moved.deviceName)}"` : '';
      edge.stdout.write(`this board is the device${name} now; the old board stands back when it returns\n${MOVED_SINCE}`);
      if (isJsonObject(moved) && moved.setsQueueAside === true)
        edge.stdout.write(`what it still had to deliver as another device is set aside in the state folder, in ${FORMER_QUEUE}\n`);
    });
  add('adopt', 'this board keeps the credentials that came with its card').action(async (flags: AgentFlags) => {
    await ask(flags, edge, 'adoptIdentity');
    edge.stdout.write('this board is the home of these credentials now\n');
  });
  add('forget', 'give up the identity; the next start provisions anew')
    .option('--yes', 'without asking')
    .action(async (flags: AgentFlags & { readonly yes?: boolean }) => {
      if (flags.yes !== true && (await edge.ask('Give up this identity? It cannot be undone. Type yes: ')).trim() !== 'yes')
        throw new CommandError('nothing was changed');
      await ask(flags, edge, 'forgetIdentity');
      edge.stdout.write('forgotten; the device at the platform is still there: delete it before this board can take its name again\n');
    });
}

interface ExportTarget {
  write(text: string): Promise<void>;
  /** Nothing came of it. */
  discard(): Promise<void>;
}

/** On the way to the credentials root becomes the service's user, who may not write into root's folders: root's file is open before. */
async function openTarget(path: string): Promise<ExportTarget> {
  if (process.geteuid?.() !== 0) return { write: (text) => writeDurably(systemFiles, path, text), discard: async () => {} };
  const wasThere = (await systemFiles.facts(path)) !== undefined;
  const file = await openOwn(path).catch((cause: unknown) => {
    throw new CommandError(`cannot write ${path}: ${systemCode(cause) ?? messageOf(cause)}`, { cause });
  });
  return {
    write: async (text) => {
      await file.truncate();
      await file.writeFile(text);
      await file.datasync();
      await file.close();
    },
    discard: async () => {
      await file.close();
      if (!wasThere) await systemFiles.unlink(path).catch(() => {});
    },
  };
}

/** What somebody else made, or has by another name, is none of root's. */
async function openOwn(path: string): Promise<FileHandle> {
  const { O_RDWR, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, PRIVATE_MODE);
  const found = await file.stat();
  if (found.isFile() && found.uid === 0 && found.nlink === 1) {
    await file.chmod(PRIVATE_MODE);
    return file;
  }
  await file.close();
  throw new Error('it is there already, and not root’s alone');
}

function addRotations(add: AddSubcommand, edge: Edge): void {
  add('rotate-token', 'announce the next access token; either works until the platform has changed over')
    .option('--token-file <file>', 'the next token, from a file')
    .option('--make', 'make an unguessable one and print it')
    .action(async (flags: AgentFlags & { readonly tokenFile?: string; readonly make?: boolean }) => {
      const accessToken =
        flags.make === true ? makeAccessToken(systemRandomBytes) : await secretFrom(flags.tokenFile, 'Next access token: ', edge);
      await ask(flags, edge, 'setNextAccessToken', { accessToken });
      const shown = flags.make === true ? `${accessToken}\n` : '';
      edge.stderr.write('kept beside the present one; enter it at the platform now, in the credentials of this device\n');
      edge.stdout.write(shown);
    });
  add('rotate-provisioning-secret', 'replace the provisioning key and secret of the configuration')
    .option('--key-file <file>', 'the new key, from a file')
    .option('--secret-file <file>', 'the new secret, from a file')
    .action(async (flags: AgentFlags & { readonly keyFile?: string; readonly secretFile?: string }) => {
      const deviceKey = await secretFrom(flags.keyFile, 'New provisioning key: ', edge);
      const deviceSecret = await secretFrom(flags.secretFile, 'New provisioning secret: ', edge);
      await ask(flags, edge, 'setProvisioningSecret', { deviceKey, deviceSecret });
      edge.stdout.write('kept; the configured pair stays as the second choice\n');
    });
}

async function ask(flags: AgentFlags, edge: Edge, name: string, params: JsonObject = {}): Promise<JsonValue> {
  const identity: IdentityAccess = await openIdentity(flags, edge);
  try {
    const answer = await identity.request(name, params);
    if (identity.isRunning && TAKEN_UP_BY_RESTART.has(name))
      edge.stderr.write('the running agent stops now to take this up; its service manager starts it again\n');
    return answer;
  } finally {
    await identity.close();
  }
}

function rowsOf(value: JsonValue, prefix = ''): readonly (readonly string[])[] {
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, item]) =>
    isJsonObject(item) ? rowsOf(item, `${prefix}${name}.`) : [[`${prefix}${name}`, printable(String(item))]],
  );
}

function textIn(value: JsonValue, name: string): string {
  return isJsonObject(value) ? String(value[name] ?? '') : '';
}
