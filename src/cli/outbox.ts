/** `turnstone outbox`: what waits for the platform, how long it can go on waiting, and what the platform did not take. */
import type { Command } from 'commander';
import { formatSize } from '../config/quantity.ts';
import { type JsonValue, stringifyJson } from '../host/json.ts';
import type { OutboxStatus } from '../outbox/outbox-status.ts';
import { addAgentOptions } from './agent-connection.ts';
import type { Edge } from './edge.ts';
import { type OutboxFlags, withOutbox } from './outbox-access.ts';
import { addOutboxEntryCommands } from './outbox-entries.ts';
import { addOutboxWorkCommands } from './outbox-work.ts';
import { styleFor } from './style.ts';
import { columns } from './table.ts';
import { shortAge } from './value-text.ts';

const EXAMPLES = `
Examples:
  $ turnstone outbox
  $ turnstone outbox list --key temperature --last 1h
  $ turnstone outbox export --format csv > readings.csv
  $ turnstone outbox verify
  $ turnstone outbox drain
  $ turnstone outbox rejected --resend

A running agent is asked; when none runs, the files are opened, but nothing is sent.`;
const STATUS_EXAMPLES = `
Examples:
  $ turnstone outbox status
  $ turnstone outbox status --json`;
const HOURS_A_DAY = 24;

export function addOutboxCommand(program: Command, edge: Edge): void {
  const outbox = program.command('outbox').description('show, list, export, verify and drain what waits for the platform');
  outbox.addHelpText('after', EXAMPLES);
  addAgentOptions(outbox.command('status', { isDefault: true }).description('how much is held, since when, and how many hours still fit'))
    .option('--json', 'print as JSON')
    .addHelpText('after', STATUS_EXAMPLES)
    .action((flags: OutboxFlags) =>
      withOutbox(flags, edge, async (access) => {
        const status = await access.status();
        edge.stdout.write(
          flags.json === true ? `${stringifyJson(status as unknown as JsonValue)}\n` : statusPage(status, access.isRunning, edge),
        );
      }),
    );
  addOutboxEntryCommands(outbox, edge);
  addOutboxWorkCommands(outbox, edge);
}

function statusPage(status: OutboxStatus, isRunning: boolean, edge: Edge): string {
  const { bold, yellow } = styleFor(edge.stdout, edge.environment);
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
  return columns(rows, edge.stdout.columns);
}

/** Days where hours would be a large number. */
function hours(amount: number): string {
  const whole = `${Math.floor(amount)} more hours`;
  return amount > 3 * HOURS_A_DAY ? `${whole} (${shortAge(Math.floor(amount) * 3_600_000)})` : whole;
}

function iso(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
