/** Shows this device's identity, moves it to another board, replaces its secrets without a gap, and opens a claim on it. */

import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { makeAccessToken } from '../devices/access-token.ts';
import { FORMER_QUEUE } from '../devices/former-queue.ts';
import { messageOf, systemCode } from '../errors/agent-error.ts';
import { systemFiles } from '../host/files.ts';
import { systemRandomBytes } from '../host/random.ts';
import { printable } from '../names/printable.ts';
import type { Answers, OperationName } from '../operations/answers.ts';
import type { PagePlace } from '../status/shape/agent-status.ts';
import { PRIVATE_MODE, writeDurably } from '../store/durable-file.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../values/json.ts';
import { passphraseForNew, readArchive } from './archive-file.ts';
import { claimPage } from './claim-page.ts';
import type { Call } from './command.ts';
import type { ClaimCall, ExportCall, ForgetCall, ImportCall, SecretCall, TokenCall } from './commands/identity.ts';
import type { Edge } from './edge.ts';
import { CommandError } from './exit-code.ts';
import { secretFrom } from './secret-from.ts';
import { pageRows } from './status.ts';

type AnyCall = Pick<Call, 'agent' | 'edge' | 'print'>;

/** A claim or a key derivation on a small board. */
const DEADLINE_MS = 60_000;
/** The platform alone knows: a file of long ago has a lower number than the boards that came since. */
const MOVED_SINCE =
  'should turnstone status say that the device was moved to another board since the file was written: turnstone identity adopt, here\n';

/** Methods that change the identity, which the agent takes up at its next start. */
const TAKEN_UP_BY_RESTART: ReadonlySet<OperationName> = new Set(['importIdentity', 'adoptIdentity', 'forgetIdentity']);

export async function showIdentity(call: AnyCall): Promise<void> {
  const shown = await askIdentity(call, 'showIdentity');
  call.print.result(shown, () => call.print.table(rowsOf(shown)));
}

export async function exportIdentity(call: ExportCall): Promise<void> {
  const { args, edge, print } = call;
  const passphrase = await passphraseForNew('identity', call);
  const target = await openTarget(args.file, edge);
  const { text } = await askIdentity(call, 'exportIdentity', { passphrase }).catch(async (error: unknown) => {
    await target.discard();
    throw error;
  });
  await target.write(text);
  print.write(`written to ${args.file}; whoever has it and the passphrase is this device\n`);
}

export async function importIdentity(call: ImportCall): Promise<void> {
  const { flags, args, print } = call;
  const { text, passphrase } = await readArchive('identity', args.file, call);
  const { deviceName, setsQueueAside } = await askIdentity(call, 'importIdentity', {
    text,
    passphrase,
    replace: flags.replace === true,
  });
  const name = deviceName === undefined ? '' : ` "${printable(deviceName)}"`;
  print.write(`this board is the device${name} now; the old board stands back when it returns\n${MOVED_SINCE}`);
  if (setsQueueAside === true)
    print.write(
      `what it still had to deliver as another device is set aside in the state folder, in ${FORMER_QUEUE}\n`,
    );
}

export async function adoptIdentity(call: AnyCall): Promise<void> {
  await askIdentity(call, 'adoptIdentity');
  call.print.write('this board is the home of these credentials now\n');
}

export async function forgetIdentity(call: ForgetCall): Promise<void> {
  const { flags, edge, print } = call;
  const whose = flags.devices === true ? 'this identity, and those of all attached devices' : 'this identity';
  if (flags.yes !== true && (await edge.ask(`Give up ${whose}? It cannot be undone. Type yes: `)).trim() !== 'yes')
    throw new CommandError('nothing was changed');
  const { devices } = await askIdentity(call, 'forgetIdentity', {
    devices: flags.devices === true,
  });
  const more = devices === undefined ? '' : `, also for ${devices} attached ${devices === 1 ? 'device' : 'devices'}`;
  print.write(
    `forgotten${more}; at the platform all is still there: a device there has to be deleted before its name can be taken again\n`,
  );
}

export async function rotateToken(call: TokenCall): Promise<void> {
  const { flags, edge, print } = call;
  const accessToken =
    flags.make === true
      ? makeAccessToken(systemRandomBytes)
      : await secretFrom(flags.tokenFile, 'Next access token: ', edge);
  await askIdentity(call, 'setNextAccessToken', { accessToken });
  edge.stderr.write('kept beside the present one; enter it at the platform now, in the credentials of this device\n');
  if (flags.make === true) print.write(`${accessToken}\n`);
}

export async function rotateProvisioningSecret(call: SecretCall): Promise<void> {
  const { flags, edge, print } = call;
  const deviceKey = await secretFrom(flags.keyFile, 'New provisioning key: ', edge);
  const deviceSecret = await secretFrom(flags.secretFile, 'New provisioning secret: ', edge);
  await askIdentity(call, 'setProvisioningSecret', { deviceKey, deviceSecret });
  print.write('kept; the configured pair stays as the second choice\n');
}

/** One of the requests of identity-requests.ts. */
async function askIdentity<Name extends OperationName>(
  { agent, edge }: AnyCall,
  name: Name,
  params: JsonObject = {},
): Promise<Answers[Name]> {
  const asked = await agent();
  const answer = await asked.ask(name, params, { deadlineMs: DEADLINE_MS, signal: edge.signal });
  if (asked.isRunning && TAKEN_UP_BY_RESTART.has(name))
    edge.stderr.write('the running agent stops now to take this up; its service manager starts it again\n');
  return answer;
}

interface ExportTarget {
  write(text: string): Promise<void>;
  /** Nothing came of it. */
  discard(): Promise<void>;
}

/** On the way to the credentials root becomes the service's user, who may not write into root's folders: root's file is open before. */
async function openTarget(path: string, edge: Pick<Edge, 'stderr'>): Promise<ExportTarget> {
  if (process.geteuid?.() !== 0)
    return { write: (text) => writeDurably(systemFiles, path, text), discard: async () => {} };
  const wasThere = (await systemFiles.facts(path)) !== undefined;
  const file = await openOwn(path).catch((cause: unknown) => {
    throw new CommandError(`cannot write ${path}: ${systemCode(cause) ?? messageOf(cause)}`, { cause });
  });
  const discard = async (): Promise<void> => {
    await file.close();
    // In a folder of root's own nothing can be removed any more.
    if (!wasThere) await systemFiles.unlink(path).catch(() => edge.stderr.write(`${path} is left empty: remove it\n`));
  };
  const write = async (text: string): Promise<void> => {
    try {
      // Over what was there, which a full disk is not to take away.
      await file.writeFile(text);
      await file.truncate(Buffer.byteLength(text));
      await file.datasync();
    } catch (cause) {
      if (!wasThere) await file.truncate().catch(() => {});
      await discard();
      throw new CommandError(`cannot write ${path}: ${systemCode(cause) ?? messageOf(cause)}`, { cause });
    }
    await file.close();
  };
  return { write, discard };
}

/** Opens a file of root's own: refuses one that somebody else made, or that has another name. */
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

function rowsOf(value: JsonValue, prefix = ''): readonly (readonly string[])[] {
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, item]) => {
    if (isJsonObject(item)) return rowsOf(item, `${prefix}${name}.`);
    // Without an agent a part that nobody knows is there, and has no value.
    return item === undefined ? [] : [[`${prefix}${name}`, printable(String(item))]];
  });
}

export async function claim(call: ClaimCall): Promise<void> {
  const { flags, edge, print } = call;
  const asksForSecret = flags.secretKeyFile !== undefined || flags.ask === true;
  const secretKey = asksForSecret ? await secretFrom(flags.secretKeyFile, 'Secret for this claim: ', edge) : undefined;
  const opened = await askIdentity(call, 'claim', { secretKey, durationMs: flags.duration });
  const page = await pageOf(call);
  print.result(
    {
      ...opened,
      page,
    },
    () => claimPage(opened, flags.qr, print.style) + print.table(pageRows({ page })),
  );
}

/** Undefined while no agent runs: there is no page, then. */
async function pageOf({ agent }: AnyCall): Promise<PagePlace | undefined> {
  const asked = await agent();
  if (!asked.isRunning) return undefined;
  const status = await asked.ask('getStatus').catch(() => undefined);
  return status?.page;
}
