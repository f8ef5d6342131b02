/** `turnstone outbox verify`, `drain` and `rejected`. */
import { join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { peekFolders } from '../config/peek-folders.ts';
import { parseDuration } from '../config/quantity.ts';
import { messageOf } from '../errors.ts';
import { systemClock } from '../host/clock.ts';
import { actAsOwnerOf } from '../host/folder-owner.ts';
import { type JsonValue, stringifyJson } from '../host/json.ts';
import { type AgentFlags, addAgentOptions, connectAgent } from './agent-connection.ts';
import type { Edge } from './edge.ts';
import { CommandError } from './exit-code.ts';
import { type OutboxAccess, type OutboxFlags, withOutbox } from './outbox-access.ts';
import { ProgressBar } from './progress-bar.ts';
import { printable, styleFor } from './style.ts';
import { columns } from './table.ts';
import { valueText } from './value-text.ts';
import { type OutboxVerdict, verifyOutbox } from './verify-outbox.ts';

type DrainFlags = AgentFlags & { readonly within: number; readonly json?: boolean };
type RejectedFlags = OutboxFlags & { readonly resend?: boolean; readonly sequence?: readonly number[] };

const VERIFY_EXAMPLES = `
Examples:
  $ turnstone outbox verify
  $ turnstone outbox verify --json

Exit codes: 0 every block is whole, 1 something is damaged or was set aside.`;
const DRAIN_EXAMPLES = `
Examples:
  $ turnstone outbox drain
  $ turnstone outbox drain --within 10m

Exit codes: 0 everything has arrived, 1 something still waits.`;
const REJECTED_EXAMPLES = `
Examples:
  $ turnstone outbox rejected
  $ turnstone outbox rejected --resend
  $ turnstone outbox rejected --resend --sequence 1204 --sequence 1207`;
const LOOK_EVERY_MS = 500;

export function addOutboxWorkCommands(outbox: Command, edge: Edge): void {
  addAgentOptions(outbox.command('verify').description('read every block on the disk and say what is whole'))
    .option('--json', 'print as JSON')
    .addHelpText('after', VERIFY_EXAMPLES)
    .action((flags: OutboxFlags) => verify(flags, edge));
  addAgentOptions(outbox.command('drain').description('wait until everything that is held has arrived'))
    .option('--within <duration>', 'how long to wait', duration, 5 * 60_000)
    .option('--json', 'print the end as JSON')
    .addHelpText('after', DRAIN_EXAMPLES)
    .action((flags: DrainFlags) => drain(flags, edge));
  addAgentOptions(outbox.command('rejected').description('what the platform refused, with its answers'))
    .option('--resend', 'put it back into the outbox')
    .option('--sequence <number>', 'only this entry (repeatable)', (text: string, before: readonly number[] = []) => [
      ...before,
      sequenceNumber(text),
    ])
    .option('--json', 'print as JSON')
    .addHelpText('after', REJECTED_EXAMPLES)
    .action((flags: RejectedFlags) => withOutbox(flags, edge, (access) => rejected(flags, access, edge)));
}

async function verify(flags: OutboxFlags, edge: Edge): Promise<void> {
  const { stateFolder } = await peekFolders(flags.config, edge.environment);
  await actAsOwnerOf(stateFolder);
  const folder = join(stateFolder, 'outbox');
  const bar = new ProgressBar(edge.stderr, 'verify');
  let verdict: OutboxVerdict;
  try {
    verdict = await verifyOutbox(folder, (done, total) => bar.update(done, total, (amount) => `${amount} segments`), edge.signal);
  } catch (error) {
    throw new CommandError(`the outbox in ${folder} cannot be read: ${messageOf(error)}`, {
      nextStep: 'name its --config, and run this as the service’s user or root',
    });
  } finally {
    bar.end();
  }
  edge.stdout.write(flags.json === true ? `${JSON.stringify({ folder, ...verdict })}\n` : verdictText(folder, verdict, edge));
  if (!verdict.isWhole) throw new CommandError('');
}

function verdictText(folder: string, { segments, entries, setAside, isWhole }: OutboxVerdict, edge: Edge): string {
  const { green, red } = styleFor(edge.stdout, edge.environment);
  const damaged = segments
    .filter(({ damage }) => damage !== undefined)
    .map(({ name, damage }) => `${red('damaged')}    ${name}: ${damage}\n`);
  const aside = setAside.map((name) => `${red('set aside')}  ${printable(name)}\n`);
  const blocks = segments.reduce((sum, segment) => sum + segment.blocks, 0);
  return `${damaged.join('')}${aside.join('')}${folder}: ${isWhole ? green('whole') : red('not whole')}, ${segments.length} segments, ${blocks} whole blocks, ${entries} entries\n`;
}

async function drain(flags: DrainFlags, edge: Edge): Promise<void> {
  const agent = await connectAgent(flags, edge);
  const bar = new ProgressBar(edge.stderr, 'drain');
  const held = async (): Promise<number> =>
    Number(((await agent.request('outboxStatus')) as { readonly heldEntries?: number }).heldEntries ?? 0);
  try {
    const atFirst = await held();
    const untilMs = systemClock.monotonicMs() + flags.within;
    let left = atFirst;
    while (left > 0 && systemClock.monotonicMs() < untilMs && !edge.signal.aborted) {
      bar.update(Math.max(0, atFirst - left), atFirst, (amount) => `${amount} entries`);
      await systemClock.sleep(LOOK_EVERY_MS, edge.signal);
      left = await held();
    }
    bar.end();
    if (flags.json === true) edge.stdout.write(`${JSON.stringify({ held: left })}\n`);
    else if (left === 0) edge.stdout.write('everything has arrived\n');
    if (left > 0)
      throw new CommandError(flags.json === true ? '' : `${left} entries still wait`, { nextStep: 'turnstone status says why' });
  } finally {
    bar.end();
    await agent.close();
  }
}

async function rejected(flags: RejectedFlags, access: OutboxAccess, edge: Edge): Promise<void> {
  if (flags.resend === true) {
    const resent = await access.resendRejected(flags.sequence);
    edge.stdout.write(flags.json === true ? `${JSON.stringify({ resent })}\n` : `${resent} put back into the outbox\n`);
    const missing = new Set(flags.sequence).size - resent;
    if (flags.sequence !== undefined && missing > 0)
      throw new CommandError(flags.json === true ? '' : `${missing} of these sequences are not among what was refused`, {
        nextStep: 'turnstone outbox rejected lists it',
      });
    return;
  }
  const all = await access.rejected();
  const chosen = flags.sequence === undefined ? all : all.filter(({ sequence }) => flags.sequence?.includes(sequence));
  if (flags.json === true) edge.stdout.write(`${stringifyJson(chosen as unknown as JsonValue)}\n`);
  else if (chosen.length === 0) edge.stdout.write('nothing was refused\n');
  else {
    const rows = chosen.map(({ sequence, ts, key, value, answer }) => [
      String(sequence),
      new Date(ts).toISOString(),
      printable(key),
      valueText(value),
      printable(answer),
    ]);
    edge.stdout.write(columns([['SEQUENCE', 'TIME', 'KEY', 'VALUE', 'ANSWER'], ...rows], edge.stdout.columns));
  }
}

function sequenceNumber(text: string): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(number)) throw new InvalidArgumentError('a number, as turnstone outbox rejected shows it');
  return number;
}

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms <= 0) throw new InvalidArgumentError('a duration such as 30s or 10m');
  return ms;
}
