/**
 * Cost and throughput of the outbox, against the bars of its issue:
 *
 *   npm run bench:outbox [-- --json] [--runs 5] [--device-seconds 180] [--skip-device]
 *
 * TMPDIR chooses the disk. Throughputs are medians of interleaved runs; bytes on the device are counted in real time, side by side, as
 * the process' own and as the device's.
 */
import { parseArgs } from 'node:util';
import { DEFAULT_OUTBOX_SETTINGS } from '../support/outbox-settings.ts';
import { measureAppendRates } from './outbox-bench/append-rates.ts';
import { measureCommandDelay } from './outbox-bench/command-delay.ts';
import { type DeviceRun, measureDeviceBytes } from './outbox-bench/device-bytes.ts';
import { measureHeldMillion } from './outbox-bench/held-million.ts';
import { measureLayouts } from './outbox-bench/layouts.ts';

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    runs: { type: 'string', default: '5' },
    'device-seconds': { type: 'string', default: '180' },
    'skip-device': { type: 'boolean', default: false },
  },
});

const say = (text: string): void => {
  if (!flags.json) console.log(text);
};

say('appending, draining: outbox, bare log, SQLite …');
const rates = await measureAppendRates(Number(flags.runs));
say('a million entries piling up …');
const held = await measureHeldMillion();
say('commands while every sync takes 2 s …');
const command = await measureCommandDelay();
const device = flags['skip-device'] ? {} : await deviceFields();

const result = {
  appendRatioBareLog: round(rates.outbox / rates.bareLog),
  appendRatioSqlite: round(rates.outbox / rates.sqlite),
  drainRatioAppend: round(rates.drain / rates.outbox),
  ...device,
  storedBytesPerPayloadByte: round(held.storedBytesPerPayloadByte, 3),
  openMs: round(held.openMs),
  growthMb: round(held.growthMb),
  commandDelayMs: round(command.commandDelayMs),
  appendsPerS: rates,
  layouts: measureLayouts(),
  appendMsWhileSyncsHang: command.appendMs,
};
if (!flags.json)
  for (const [field, value] of Object.entries(result)) console.log(`${field.padEnd(34)} ${JSON.stringify(value)}`);
console.log(JSON.stringify(result));

/** At the shipped defaults, and beside them other commit ages, and a journal that commits once a minute. */
async function deviceFields(): Promise<Record<string, unknown>> {
  const seconds = Number(flags['device-seconds']);
  const { commitAgeMs: shipped } = DEFAULT_OUTBOX_SETTINGS;
  const runs: readonly (DeviceRun & { readonly name: string })[] = [
    { name: 'shipped', commitAgeMs: shipped, mountOptions: 'defaults', seconds },
    { name: '1s', commitAgeMs: 1_000, mountOptions: 'defaults', seconds },
    { name: '5s', commitAgeMs: 5_000, mountOptions: 'defaults', seconds },
    { name: '15s', commitAgeMs: 15_000, mountOptions: 'defaults', seconds },
    { name: '60s', commitAgeMs: 60_000, mountOptions: 'defaults', seconds },
    { name: '5s, ext4 lazytime', commitAgeMs: 5_000, mountOptions: 'lazytime', seconds },
    { name: '5s, ext4 commit=60', commitAgeMs: 5_000, mountOptions: 'commit=60', seconds },
  ];
  say(`bytes on the device, ${seconds} s in real time …`);
  const measured = await measureDeviceBytes(runs);
  const by = (counter: 'processBytes' | 'deviceBytes'): Record<string, number> =>
    Object.fromEntries(runs.map(({ name }, at) => [name, round(measured[at]?.[counter] ?? Number.NaN)]));
  return {
    deviceBytesPerPayloadByte: round(measured[0]?.processBytes ?? Number.NaN),
    deviceBytesMethod: `/proc/self/io, ${seconds} s in real time: the pages this process made the disk write, without the file system's own journal`,
    deviceBytesBy: by('processBytes'),
    // With it: ext4 journals the changed time of a written file, three blocks each 5 s, whatever the file's content.
    blockDeviceBytesPerPayloadByte: round(measured[0]?.deviceBytes ?? Number.NaN),
    blockDeviceMethod: `block device of an ext4 image of its own, 4 KiB blocks, the same run`,
    blockDeviceBytesBy: by('deviceBytes'),
  };
}

function round(value: number, places = 2): number {
  return Number(value.toFixed(places));
}
