/** How much the outbox holds, as a page for people. */
import { formatSize } from '../config/fields/quantity.ts';
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
  const { heldEntries, inMemoryEntries, oldestMs, newestMs, hoursThatFit, lanes, ratePerS, diskBytes, fault, untimedEntries } = status;
  const until = newestMs === undefined ? '' : ` to ${iso(newestMs)}`;
  const span = oldestMs === undefined ? '' : `, from ${iso(oldestMs)}${until}`;
  const memory = inMemoryEntries > 0 ? ` (${inMemoryEntries} not on the disk yet)` : '';
  const atRate = `${formatSize(status.diskBytesPerDay)} a day, ${formatSize(status.diskBytesPerYear)} a year at this rate; `;
  const lost = (['rejected', 'thinned', 'dropped', 'damaged', 'setAside'] as const)
    .filter((what) => status[what] > 0)
    .map((what) => `${status[what]} ${what === 'setAside' ? 'files set aside' : what}`);
  const fits =
    hoursThatFit === undefined ? 'not known: nothing comes in' : `${hours(hoursThatFit)} at ${ratePerS.toFixed(1)} entries a second`;
  const rows = [
    ['held', `${bold(String(heldEntries))} entries${memory}${span}`],
    ['lanes', `${lanes.alarm} alarm, ${lanes.live} live, ${lanes.backlog} backlog`],
    ['still fits', fits],
    ['on disk', `${formatSize(status.bytes)} in ${status.segments} segments, ${formatSize(status.heldBytes)} of it held`],
    ['written', `${isRunning ? atRate : ''}${formatSize(diskBytes)} in all`],
    ['lost', lost.length === 0 ? 'nothing' : yellow(lost.join(', '))],
  ];
  const untimed = `${untimedEntries} entries of earlier starts: the clock was not right then (outbox.timeUncertain)`;
  if (status.deadLetters !== undefined)
    rows.push(['dead letters', yellow(`${status.deadLetters} entries that the platform refuses are tried again by themselves for a week`)]);
  if (fault !== undefined) rows.push(['fault', yellow(`the disk takes no entries: ${fault}`)]);
  if (untimedEntries !== undefined) rows.push(['no time', yellow(untimed)]);
  if (isRunning && !status.timeSynchronised) rows.push(['clock', yellow('not synchronised yet: entries wait until their time is known')]);
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
