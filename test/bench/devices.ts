/**
 * Costs of many attached devices, against the same readings of few: memory, start, processor, a backlog's way out, and the disk when one of them is
 * held for weeks.
 *
 *   npm run bench:devices [-- --json] [-- --devices 100] [-- --runs 5] [-- --for 60] [-- --entries 1000000] [-- --days 30] [-- --skip-agent]
 *
 * The agent is the bundle as a process of its own, before a sink, without TLS. `--skip-agent` leaves out what needs one that has `devices:`, and says so;
 * `--devices 0` gives all to the gateway, which every agent can.
 */
import { parseArgs } from 'node:util';
import { buildBundle, ownNativeModules } from '../../scripts/bundle.ts';
import { measureLoad, measureMemory, measureStart } from './devices-bench/agent-figures.ts';
import { Sink } from './devices-bench/agent-run.ts';
import { measureDrain } from './devices-bench/drain.ts';
import { measureHeld } from './devices-bench/held-device.ts';

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    'skip-agent': { type: 'boolean', default: false },
    devices: { type: 'string', default: '100' },
    runs: { type: 'string', default: '5' },
    for: { type: 'string', default: '60' },
    entries: { type: 'string', default: '1000000' },
    days: { type: 'string', default: '30' },
  },
});
const devices = Number(flags.devices);
/** The least that the same agent can have of them. */
const few = Math.min(1, devices);
/** Sets of keys in a backlog. */
const KEY_SETS = 100;

/** Bounds of the issue that this answers; a figure without one is only told. */
const BOUNDS: Readonly<Record<string, string>> = {
  heldBytesRatio: '<= 1.2',
  privateMbPer100Devices: '<= 6',
  startToFirstUploadRatio: '<= 1.5',
  drainRatioOneDevice: '>= 0.8',
  cpuPercent: '<= 12',
};

const figures: Record<string, number | string> = {};
Object.assign(figures, await measureHeld(Number(flags.days)));
if (flags['skip-agent']) figures.skipped = 'what needs an agent with devices (--skip-agent)';
else Object.assign(figures, await measureAgent());
if (!flags.json)
  for (const [name, value] of Object.entries(figures))
    console.log(`${name.padEnd(26)}${String(value).padStart(14)}   ${BOUNDS[name] ?? ''}`.trimEnd());
else console.log(JSON.stringify(figures));

async function measureAgent(): Promise<Record<string, number>> {
  await buildBundle(ownNativeModules());
  const sink = await Sink.open();
  try {
    const [start, startFew] = [await measureStart(sink, devices, Number(flags.runs)), await measureStart(sink, few, Number(flags.runs))];
    const memory = await measureMemory(sink, devices, Number(flags.runs));
    const backlog = { entries: Number(flags.entries), keySets: KEY_SETS };
    const [drain, drainFew] = [await measureDrain(sink, { ...backlog, devices }), await measureDrain(sink, { ...backlog, devices: few })];
    const load = await measureLoad(sink, devices, Number(flags.for));
    return {
      devices,
      privateMb: rounded(memory.privateMb, 1),
      privateMbPer100Devices: rounded(memory.moreMb * (devices === 0 ? 1 : 100 / devices), 1),
      firstUploadMs: rounded(start.firstUploadMs, 0),
      everyDeviceMs: rounded(start.everyDeviceMs, 0),
      startToFirstUploadRatio: rounded(start.firstUploadMs / startFew.firstUploadMs, 2),
      drainedPerSecond: rounded(drain, 0),
      drainRatioOneDevice: rounded(drain / drainFew, 2),
      valuesPerSecond: rounded(load.valuesPerSecond, 0),
      cpuPercent: rounded(load.cpuPercent, 1),
    };
  } finally {
    sink.close();
  }
}

function rounded(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}
