/** The outbox for people and programs: how much it holds, its entries, whether it is whole, and what the platform refused of it. */

import { formatSize } from '../config/fields/quantity.ts';
import { namedFolders } from '../config/peek-config.ts';
import { messageOf } from '../errors/agent-error.ts';
import { systemClock } from '../host/clock.ts';
import { systemFiles } from '../host/files.ts';
import { actAsOwnerOf } from '../host/folder-owner.ts';
import { printable } from '../names/printable.ts';
import {
  isMeant,
  type KeptRejected,
  type KeptStatus,
  type OutboxVerdict,
  type ResolvedEntry,
  type UnreadPlace,
  verifyOutbox,
} from '../outbox/outbox.ts';
import { type JsonObject, stringifyJson } from '../values/json.ts';
import { SELF } from '../values/self.ts';
import { type AgentCalls, agentWallMs } from './agent-calls.ts';
import type { Call } from './command.ts';
import type { DrainCall, EntriesCall, ExportCall, ListCall, RejectedCall, VerifyCall } from './commands/outbox.ts';
import { CommandError, EXIT } from './exit-code.ts';
import { placeFolders } from './outbox-files.ts';
import type { Printer } from './printer.ts';
import { amountsOf, withProgress } from './progress.ts';
import { checkRange } from './range-words.ts';
import { parseRange } from './report-range.ts';
import { csvLine, shortAge, valueText } from './value-text.ts';

const HOURS_A_DAY = 24;

export async function showOutbox({ agent, print }: Pick<Call, 'agent' | 'print'>): Promise<void> {
  const asked = await agent();
  const status = await asked.ask('outboxStatus');
  print.result(status, () => statusPage(status, asked.isRunning, print));
}

function statusPage(status: KeptStatus, isRunning: boolean, print: Printer): string {
  const { bold, yellow } = print.style;
  const {
    heldEntries,
    inMemoryEntries,
    oldestMs,
    newestMs,
    hoursThatFit,
    lanes,
    ratePerS,
    diskBytes,
    fault,
    untimedEntries,
  } = status;
  const until = newestMs === undefined ? '' : ` to ${iso(newestMs)}`;
  const span = oldestMs === undefined ? '' : `, from ${iso(oldestMs)}${until}`;
  const memory = inMemoryEntries > 0 ? ` (${inMemoryEntries} not on the disk yet)` : '';
  const lost = (['rejected', 'thinned', 'dropped', 'damaged', 'setAside'] as const)
    .filter((what) => status[what] > 0)
    .map((what) => `${status[what]} ${what === 'setAside' ? 'files set aside' : what}`);
  const fits =
    hoursThatFit === undefined
      ? 'not known: nothing comes in'
      : `${hours(hoursThatFit)} at ${ratePerS.toFixed(1)} entries a second`;
  const rows = [
    ['held', `${bold(String(heldEntries))} entries${memory}${span}`],
    ...(status.places ?? []).map(({ name, heldEntries: waiting, fault: ofPlace }, at) => [
      at === 0 ? 'held by' : '',
      `${printable(name)}: ${waiting} entries${ofPlace === undefined ? '' : yellow(` (${printable(ofPlace)})`)}`,
    ]),
    ['lanes', `${lanes.alarm} alarm, ${lanes.live} live, ${lanes.backlog} backlog`],
    ['still fits', fits],
    [
      'on disk',
      `${formatSize(status.bytes)} in ${status.segments} segments, ${formatSize(status.heldBytes)} of it held`,
    ],
    ['written', `${formatSize(diskBytes)} in all`],
    ['lost', lost.length === 0 ? 'nothing' : yellow(lost.join(', '))],
  ];
  const untimed = `${untimedEntries} entries of earlier starts: the clock was not right then (outbox.timeUncertain)`;
  if (status.deadLetters !== undefined)
    rows.push([
      'dead letters',
      yellow(`${status.deadLetters} entries that the platform refuses are tried again by themselves for a week`),
    ]);
  if (fault !== undefined) rows.push(['fault', yellow(`the disk takes no entries: ${fault}`)]);
  if (untimedEntries !== undefined) rows.push(['no time', yellow(untimed)]);
  if (isRunning && !status.timeSynchronised)
    rows.push(['clock', yellow('not synchronised yet: entries wait until their time is known')]);
  return print.table(rows);
}

/** Days where hours would be a large number. */
function hours(amount: number): string {
  const whole = `${Math.floor(amount)} more hours`;
  return amount > 3 * HOURS_A_DAY ? `${whole} (${shortAge(Math.floor(amount) * 3_600_000)})` : whole;
}

function iso(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

export async function listEntries(call: ListCall): Promise<void> {
  const { edge, flags, print } = call;
  let newest: readonly ResolvedEntry[] = [];
  const unread = await entries(call, (some) => {
    newest = [...newest, ...some].slice(-flags.limit);
  });
  tellUnread(unread, call);
  if (newest.length === 0 && flags.json !== true)
    return edge.stderr.write('no entry of known time; --all shows delivered ones too\n');
  print.result(newest, () =>
    print.table([
      ['TIME', 'DEVICE', 'KEY', 'VALUE', ''],
      ...newest.map((entry) => [
        timeOf(entry),
        deviceOf(entry),
        printable(entry.key),
        valueText(entry.value),
        entry.class === 'alarm' ? 'alarm' : '',
      ]),
    ]),
  );
}

export async function exportEntries(call: ExportCall): Promise<void> {
  const { edge, flags, print } = call;
  const line = flags.format === 'csv' ? csvOf : jsonLine;
  let done = 0;
  if (flags.format === 'csv') print.write('time,ts,key,value,class,device\r\n');
  const unread = await withProgress(edge.stderr, 'export', (progress) =>
    entries(call, async (some) => {
      print.writeForeign(some.map(line).join(''));
      done += some.length;
      progress.update(done, undefined, amountsOf('entries'));
      await edge.stdout.drained();
    }),
  );
  tellUnread(unread, call);
}

/** Tells of places that gave no answer, beside what the others gave; the command has failed then. */
function tellUnread(unread: readonly UnreadPlace[], { edge, print }: Pick<Call, 'edge' | 'print'>): void {
  for (const { place, why } of unread)
    edge.stderr.write(`turnstone: ${printable(place)} gave no answer: ${printable(why)}\n`);
  if (unread.length > 0) print.exitCode = EXIT.failure;
}

/** Calls back with what the flags choose, in the order of blocks, a few hundred at a time. Resolves to the places that could not be read. */
async function entries(
  { agent, flags, edge }: EntriesCall,
  onEntries: (entries: readonly ResolvedEntry[]) => void | Promise<void>,
): Promise<readonly UnreadPlace[]> {
  checkRange(flags);
  const asked = await agent();
  let unread: readonly UnreadPlace[] = [];
  const take = (told: readonly ResolvedEntry[] | Pick<KeptRejected, 'unread'>): void | Promise<void> => {
    if ('unread' in told) unread = told.unread;
    else return onEntries(told);
  };
  await asked.subscribe('outboxEntries', await queryOf(flags, asked), take, edge.signal);
  return unread;
}

async function queryOf(flags: EntriesCall['flags'], agent: AgentCalls): Promise<JsonObject> {
  const { from, to, last, key, all } = flags;
  const nowMs = await agentWallMs(agent);
  const isRanged = from !== undefined || to !== undefined || last !== undefined;
  const { rangeStartTs, rangeEndTs } = isRanged ? parseRange(flags, nowMs) : {};
  return { heldOnly: all !== true, keys: key, fromMs: rangeStartTs, toMs: rangeEndTs };
}

function jsonLine({ ts, device, key, value, class: own }: ResolvedEntry): string {
  const whose = device === SELF ? {} : { device };
  return `${stringifyJson({ ts, key, value, class: own, ...whose })}\n`;
}

function csvOf(entry: ResolvedEntry): string {
  const value = typeof entry.value === 'string' ? entry.value : stringifyJson(entry.value);
  return csvLine([timeOf(entry), String(entry.ts), entry.key, value, entry.class, deviceOf(entry)]);
}

/** The gateway is the device that nobody needs to be told of. */
function deviceOf({ device }: Pick<ResolvedEntry, 'device'>): string {
  return device === SELF ? '' : printable(device);
}

function timeOf({ ts }: ResolvedEntry): string {
  return new Date(ts).toISOString();
}

const LOOK_EVERY_MS = 500;

export async function verify(call: VerifyCall): Promise<void> {
  const { flags, edge, print } = call;
  const { stateFolder } = await namedFolders(flags.config, edge.environment);
  await actAsOwnerOf(stateFolder);
  const nextStep = 'name its --config, and run this as the service’s user or root';
  const verdicts: (OutboxVerdict & { readonly folder: string })[] = [];
  const unread: UnreadPlace[] = [];
  for (const { name, folder } of await placeFolders(stateFolder)) {
    const verdict = await withProgress(edge.stderr, 'verify', (progress) => {
      const onProgress = (done: number, total: number): void => progress.update(done, total, amountsOf('segments'));
      return verifyOutbox({ files: systemFiles, folder }, onProgress, edge.signal);
    }).catch((error: unknown) => {
      const why = `the outbox in ${folder} cannot be read: ${messageOf(error)}`;
      if (verdicts.length === 0 || edge.signal.aborted) throw new CommandError(why, { nextStep });
      unread.push({ place: name, why });
    });
    if (verdict !== undefined) verdicts.push({ folder, ...verdict });
  }
  tellUnread(unread, call);
  const [own, ...others] = verdicts;
  print.result({ ...own, ...(others.length > 0 && { others }) }, () =>
    verdicts.map((verdict) => verdictText(verdict.folder, verdict, print)).join(''),
  );
  if (!verdicts.every(({ isWhole }) => isWhole)) print.exitCode = EXIT.failure;
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
  const held = async (): Promise<number> => (await asked.ask('outboxStatus')).heldEntries;
  const atFirst = await held();
  const untilMs = systemClock.monotonicMs() + flags.within;
  let left = atFirst;
  await withProgress(edge.stderr, 'drain', async (progress) => {
    while (left > 0 && systemClock.monotonicMs() < untilMs && !edge.signal.aborted) {
      progress.update(Math.max(0, atFirst - left), atFirst, amountsOf('entries'));
      await systemClock.sleep(LOOK_EVERY_MS, edge.signal);
      left = await held();
    }
  });
  print.result({ held: left }, () => (left === 0 ? 'everything has arrived\n' : ''));
  if (left > 0) print.fail(`${left} entries still wait`, 'turnstone status says why');
}

export async function rejected(call: RejectedCall): Promise<void> {
  const { flags, print, agent } = call;
  const asked = await agent();
  const { resend, sequence: sequences, device } = flags;
  if (resend === true) {
    const { resent, missing, unread } = await asked.ask('resendRejected', { sequences, device });
    tellUnread(unread, call);
    print.result({ resent }, () => `${resent} put back into the outbox\n`);
    if (missing.length > 0)
      print.fail(
        `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not among what was refused`,
        'turnstone outbox rejected lists it',
      );
    return;
  }
  const { entries: all, unread } = await asked.ask('keptRejected');
  tellUnread(unread, call);
  const chosen = all.filter((entry) => isMeant(entry, { sequences, device }));
  const rows = chosen.map(({ sequence, ts, ...entry }) => {
    return [
      String(sequence),
      new Date(ts).toISOString(),
      deviceOf(entry),
      printable(entry.key),
      valueText(entry.value),
      printable(entry.answer),
    ];
  });
  const head = ['SEQUENCE', 'TIME', 'DEVICE', 'KEY', 'VALUE', 'ANSWER'];
  print.result(chosen, () => (rows.length === 0 ? 'nothing was refused\n' : print.table([head, ...rows])));
}
