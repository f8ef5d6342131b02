/** The whole of an outbox: looked through, waited for until it has arrived, and what the platform refused of it. */
import { namedFolders } from '../config/peek-config.ts';
import { messageOf } from '../errors/agent-error.ts';
import { systemClock } from '../host/clock.ts';
import { systemFiles } from '../host/files.ts';
import { actAsOwnerOf } from '../host/folder-owner.ts';
import { outboxFolder } from '../outbox/open-outbox.ts';
import { type OutboxStatus, type OutboxVerdict, type RejectedEntry, verifyOutbox } from '../outbox/outbox.ts';
import type { DrainCall, RejectedCall, VerifyCall } from './commands/outbox.ts';
import { CommandError, EXIT } from './exit-code.ts';
import { type Printer, printable } from './printer.ts';
import { withBar } from './progress-bar.ts';
import { valueText } from './value-text.ts';

const LOOK_EVERY_MS = 500;

export async function verify({ flags, edge, print }: VerifyCall): Promise<void> {
  const { stateFolder } = await namedFolders(flags.config, edge.environment);
  await actAsOwnerOf(stateFolder);
  const folder = outboxFolder(stateFolder);
  const nextStep = 'name its --config, and run this as the service’s user or root';
  const verdict = await withBar(edge.stderr, 'verify', (bar) => {
    const onProgress = (done: number, total: number): void => bar.update(done, total, (amount) => `${amount} segments`);
    return verifyOutbox({ files: systemFiles, folder }, onProgress, edge.signal);
  }).catch((error: unknown) => {
    throw new CommandError(`the outbox in ${folder} cannot be read: ${messageOf(error)}`, { nextStep });
  });
  print.result({ folder, ...verdict }, () => verdictText(folder, verdict, print));
  if (!verdict.isWhole) print.exitCode = EXIT.failure;
}

function verdictText(folder: string, { segments, entries, setAside, isWhole }: OutboxVerdict, print: Printer): string {
  const { green, red } = print.style;
  const damaged = segments
    .filter(({ damage }) => damage !== undefined)
    .map(({ name, damage }) => `${red('damaged')}    ${name}: ${damage}\n`);
  const aside = setAside.map((name) => `${red('set aside')}  ${printable(name)}\n`);
  const blocks = segments.reduce((sum, segment) => sum + segment.blocks, 0);
  return `${damaged.join('')}${aside.join('')}${folder}: ${isWhole ? green('whole') : red('not whole')}, ${segments.length} segments, ${blocks} whole blocks, ${entries} entries\n`;
}

export async function drain({ flags, edge, print, agent }: DrainCall): Promise<void> {
  const asked = await agent();
  const held = async (): Promise<number> => (await asked.ask<OutboxStatus>('outboxStatus')).heldEntries;
  const atFirst = await held();
  const untilMs = systemClock.monotonicMs() + flags.within;
  let left = atFirst;
  await withBar(edge.stderr, 'drain', async (bar) => {
    while (left > 0 && systemClock.monotonicMs() < untilMs && !edge.signal.aborted) {
      bar.update(Math.max(0, atFirst - left), atFirst, (amount) => `${amount} entries`);
      await systemClock.sleep(LOOK_EVERY_MS, edge.signal);
      left = await held();
    }
  });
  print.result({ held: left }, () => (left === 0 ? 'everything has arrived\n' : ''));
  if (left > 0) print.fail(`${left} entries still wait`, 'turnstone status says why');
}

export async function rejected({ flags, print, agent }: RejectedCall): Promise<void> {
  const asked = await agent();
  const { resend, sequence: sequences } = flags;
  if (resend === true) {
    const { resent } = await asked.ask<{ readonly resent: number }>('resendRejected', sequences === undefined ? {} : { sequences });
    print.result({ resent }, () => `${resent} put back into the outbox\n`);
    const missing = new Set(sequences).size - resent;
    if (sequences !== undefined && missing > 0)
      print.fail(`${missing} of these sequences are not among what was refused`, 'turnstone outbox rejected lists it');
    return;
  }
  const all = await asked.ask<readonly RejectedEntry[]>('rejectedEntries');
  const chosen = sequences === undefined ? all : all.filter(({ sequence }) => sequences.includes(sequence));
  const rows = chosen.map(({ sequence, ts, ...entry }) => {
    return [String(sequence), new Date(ts).toISOString(), printable(entry.key), valueText(entry.value), printable(entry.answer)];
  });
  const head = ['SEQUENCE', 'TIME', 'KEY', 'VALUE', 'ANSWER'];
  print.result(chosen, () => (rows.length === 0 ? 'nothing was refused\n' : print.table([head, ...rows])));
}
