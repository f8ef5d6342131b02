/** How much the outbox holds, as a page for people. */
import { formatSize } from '../config/quantity.ts';
import type { OutboxStatus } from '../outbox/outbox.ts';
import type { Call } from './command.ts';
import type { Printer } from './printer.ts';
import { shortAge } from './value-text.ts';

const HOURS_A_DAY = 24;

export async function showOutbox({ agent, print }: Pick<Call, 'agent' | 'print'>): Promise<void> {
  const asked = await agent();
  const status = await asked.ask<OutboxStatus>('outboxStatus');
  print.result(status, () => statusPage(status, asked.isRunning, print));
}

function statusPage(status: OutboxStatus, isRunning: boolean, print: Printer): string {
  const { bold, yellow } = print.style;
  const { heldEntries, inMemoryEntries, bytes, heldBytes, segments, lanes, ratePerS } = status;
  const span =
    status.oldestMs === undefined
      ? ''
      : `, from ${iso(status.oldestMs)}${status.newestMs === undefined ? '' : ` to ${iso(status.newestMs)}`}`;
  const lost = (['rejected', 'thinned', 'dropped', 'damaged', 'setAside'] as const)
    .filter((what) => status[what] > 0)
    .map((what) => `${status[what]} ${what === 'setAside' ? 'files set aside' : what}`);
  const rows = [
    ['held', `${bold(String(heldEntries))} entries${inMemoryEntries > 0 ? ` (${inMemoryEntries} not on the disk yet)` : ''}${span}`],
    ['lanes', `${lanes.alarm} alarm, ${lanes.live} live, ${lanes.backlog} backlog`],
    [
      'still fits',
      status.hoursThatFit === undefined
        ? 'not known: nothing comes in'
        : `${hours(status.hoursThatFit)} at ${ratePerS.toFixed(1)} entries a second`,
    ],
    ['on disk', `${formatSize(bytes)} in ${segments} segments, ${formatSize(heldBytes)} of it held`],
    [
      'written',
      isRunning
        ? `${formatSize(status.diskBytesPerDay)} a day, ${formatSize(status.diskBytesPerYear)} a year at this rate; ${formatSize(status.diskBytes)} in all`
        : `${formatSize(status.diskBytes)} in all`,
    ],
    ['lost', lost.length === 0 ? 'nothing' : yellow(lost.join(', '))],
    ...(status.fault === undefined ? [] : [['fault', yellow(`the disk takes no entries: ${status.fault}`)]]),
    ...(status.untimedEntries === undefined
      ? []
      : [['no time', yellow(`${status.untimedEntries} entries of earlier starts: the clock was not right then (outbox.timeUncertain)`)]]),
    ...(status.timeSynchronised || !isRunning ? [] : [['clock', yellow('not synchronised yet: entries wait until their time is known')]]),
  ];
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
