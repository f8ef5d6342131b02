/** Writes a whole gateway to one file. */
import { messageOf, systemCode } from '../errors/agent-error.ts';
import { systemClock } from '../host/clock.ts';
import { systemFiles } from '../host/files.ts';
import { systemRandomBytes } from '../host/random.ts';
import { agentVersion } from '../host/version.ts';
import { printable } from '../names/printable.ts';
import { PRIVATE_MODE } from '../store/durable-file.ts';
import { reachAgent } from './agent-calls.ts';
import { passphraseForNew } from './archive-file.ts';
import type { BackupCall } from './commands/backup.ts';
import { CommandError, EXIT } from './exit-code.ts';
import { CREDENTIALS_NAME, sealGateway } from './gateway-archive.ts';
import { type GatheredGateway, gatherGateway } from './gather-gateway.ts';
import { openOutboxFiles } from './outbox-files.ts';
import { amountsOf, withProgress } from './progress.ts';
import { expectReplaceable, writeOutput } from './written-file.ts';

/** More are summed up. */
const MAX_LEFT_TOLD = 10;
const SPOILT_REMEDY = 'keep an earlier backup of them';

export async function backup(call: BackupCall): Promise<void> {
  const { flags, args, edge, print } = call;
  await expectReplaceable(args.file);
  const passphrase = await passphraseForNew('gateway', call);
  const gathered = await withProgress(edge.stderr, 'backup', async (progress) => {
    const onFile = (count: number): void => progress.update(count, undefined, amountsOf('files gathered'));
    const found = await gatherGateway(flags.config, edge.environment, systemFiles, onFile).catch(withRemedy);
    const { configFolder, configName, files: all } = found;
    const archive = { madeAtMs: systemClock.wallMs(), release: agentVersion(), configFolder, configName, files: all };
    progress.step('encrypting and writing');
    await writeOutput(args.file, await sealGateway(archive, passphrase, systemRandomBytes), PRIVATE_MODE);
    return found;
  });
  const { files } = gathered;
  print.write(`written to ${printable(args.file)}: ${contentText(gathered)}\n`);
  print.write('whoever has it and the passphrase is this gateway\n');
  if (gathered.spoilt.length > 0) print.exitCode = EXIT.failure;
  for (const folder of gathered.spoilt.slice(0, MAX_LEFT_TOLD))
    edge.stderr.write(
      `turnstone: the credentials in ${printable(folder)} cannot be understood and are not in it; ${SPOILT_REMEDY}\n`,
    );
  const hasIdentity = files.some(({ place, path }) => place === 'state' && path === CREDENTIALS_NAME);
  if (!hasIdentity && !gathered.spoilt.includes(gathered.stateFolder))
    print.write(`no identity is in it: there is none in ${printable(gathered.stateFolder)}\n`);
  for (const path of gathered.left.slice(0, MAX_LEFT_TOLD))
    print.write(`not in it: ${printable(path)}; keep it by other means\n`);
  if (gathered.left.length > MAX_LEFT_TOLD)
    print.write(`not in it: ${gathered.left.length - MAX_LEFT_TOLD} more files\n`);
  print.write(await waitingText(call));
}

/** Readings that wait, of the gateway and of attached devices: they are not in a backup. */
async function waitingText({ flags, edge }: BackupCall): Promise<string> {
  const remedy = 'turnstone outbox export writes them to a file';
  const uncounted = `not in it: readings that wait for delivery; ${remedy}\n`;
  try {
    const agent = await reachAgent({ config: flags.config }, edge, openOutboxFiles);
    const { heldEntries, places = [] } = await agent.ask('outboxStatus').finally(() => agent.close());
    if (places.some(({ fault }) => fault !== undefined)) return uncounted;
    if (heldEntries === 0) return 'no reading waits for delivery\n';
    const of = places.filter(({ heldEntries: waiting }) => waiting > 0);
    const whose = of.map(({ name, heldEntries: waiting }) => `${printable(name)}: ${waiting}`).join(', ');
    return `not in it: ${heldEntries} readings that wait for delivery${whose === '' ? '' : ` (${whose})`}; ${remedy}\n`;
  } catch {
    return uncounted;
  }
}

function contentText({ files }: GatheredGateway): string {
  const beside = files.filter(({ place }) => place === 'configuration').length - 1;
  const devices = files.filter(
    ({ place, path }) => place === 'state' && path !== CREDENTIALS_NAME && path.endsWith(`/${CREDENTIALS_NAME}`),
  ).length;
  const parts = ['the configuration'];
  if (beside > 0) parts.push(`${beside} ${beside === 1 ? 'file' : 'files'} beside it`);
  if (files.some(({ place, path }) => place === 'state' && path === CREDENTIALS_NAME)) parts.push('the identity');
  if (devices > 0) parts.push(`${devices} attached ${devices === 1 ? 'device' : 'devices'}`);
  return parts.join(', ');
}

/** A backup that lacks what this user may not read would be found out when it is needed. */
function withRemedy(error: unknown): never {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const isForbidden = [error, cause, cause instanceof Error ? cause.cause : undefined].some(
    (one) => systemCode(one) === 'EACCES',
  );
  if (!isForbidden) throw error;
  throw new CommandError(`this user may not read all of the gateway: ${messageOf(error)}`, {
    cause: error,
    exitCode: EXIT.noPermission,
    nextStep: 'sudo turnstone backup FILE',
  });
}
