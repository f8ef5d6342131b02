/** Parts on the buses and ports: looks for them, and shows them with the lines of configuration that switch them on. */

import { peekHardware } from '../config/peek-config.ts';
import { addressInWords } from '../hardware/i2c-port.ts';
import { openPorts } from '../hardware/open-ports.ts';
import type { Ports } from '../hardware/ports.ts';
import { systemClock } from '../host/clock.ts';
import { oneWireKind } from '../kinds/identify-chip.ts';
import { printable } from '../names/printable.ts';
import { type FoundChip, scanI2cBus } from '../scan/find-chips.ts';
import type { KernelKind } from '../scan/find-kernel-devices.ts';
import { FreeNames } from '../scan/free-names.ts';
import { kernelSection } from '../scan/sections.ts';
import type { BusKind, ScanCall } from './commands/init.ts';
import type { Edge } from './edge.ts';
import { CommandError } from './exit-code.ts';
import { chipSnippet, kernelSnippet } from './first-config.ts';
import { amountsOf, withProgress } from './progress.ts';

type ScanFlags = ScanCall['flags'];
type Row = readonly string[];
/** Findings as they are, and as rows for people below their headings. */
interface Found {
  readonly found: readonly object[];
  readonly rows: readonly Row[];
}

/** The buses whose findings are rows. */
type BusOfRows = Exclude<BusKind, 'modbus' | 'mqtt' | 'serial'>;

const LOAD_DRIVER =
  'a chip is read by the kernel once its driver is loaded (on a Raspberry Pi: a dtoverlay line in config.txt; see docs/wiring.md)';

const BUSES: Readonly<Record<BusOfRows, (ports: Ports, flags: ScanFlags, edge: Edge) => Promise<Found>>> = {
  i2c: scanI2c,
  gpio: scanGpio,
  'one-wire': scanOneWire,
  iio: (ports, _flags, edge) => scanKernel(ports, 'iio', edge),
  hwmon: (ports, _flags, edge) => scanKernel(ports, 'hwmon', edge),
};
const ADVICE: Readonly<Record<BusOfRows, string>> = {
  i2c: 'check power, SDA and SCL, and that the bus is enabled',
  gpio: 'this kernel shows no GPIO chip',
  'one-wire': 'check the data line and its pull-up resistor, and that the one-wire bus is enabled',
  iio: LOAD_DRIVER,
  hwmon: LOAD_DRIVER,
};

/** Number of addresses that a chip may have. */
const I2C_ADDRESSES = 112;

const ENABLE_I2C = 'enable it (on a Raspberry Pi: raspi-config, or dtparam=i2c_arm=on), and modprobe i2c-dev';

export async function scan(call: ScanCall): Promise<void> {
  const { args, flags, edge, print } = call;
  const hardware =
    flags.simulate === undefined
      ? await peekHardware(flags.config, edge.environment)
      : ({ board: 'simulated', gpio: 'auto', boardSocket: flags.simulate } as const);
  if (args.bus === 'modbus') return (await import('./scan-modbus.ts')).scanModbus(call, hardware);
  const ports = openPorts({ clock: systemClock, hardware });
  try {
    if (args.bus === 'mqtt') return await (await import('./scan-mqtt.ts')).scanMqtt(call, ports.mqtt);
    if (args.bus === 'serial') return await (await import('./scan-serial.ts')).scanSerial(call, ports);
    const { found, rows } = await BUSES[args.bus](ports, flags, edge);
    if (found.length === 0 && flags.json !== true) edge.stderr.write(`nothing found; ${ADVICE[args.bus]}\n`);
    else print.result(found, () => print.table(rows.map((row, at) => (at === 0 ? row.map(print.style.bold) : row))));
  } finally {
    await ports.close();
  }
}

async function scanI2c(ports: Ports, { bus, addressesOnly = false }: ScanFlags, edge: Edge): Promise<Found> {
  const buses = bus === undefined ? await ports.i2c.list(edge.signal) : [bus];
  if (buses.length === 0) throw new CommandError('this machine has no I2C bus', { nextStep: ENABLE_I2C });
  const found: FoundChip[] = [];
  for (const number of buses) {
    const chips = await withProgress(edge.stderr, `i2c-${number}`, (progress) => {
      const onProgress = (done: number): void =>
        progress.update(Math.round(done * I2C_ADDRESSES), I2C_ADDRESSES, amountsOf('addresses'));
      return scanI2cBus(ports, number, { onProgress, addressesOnly }, edge.signal);
    });
    found.push(...chips);
  }
  const rows = found.map((chip) => {
    const { bus: number, address, guess } = chip;
    const kind = `${guess?.kind ?? ''}${guess?.isCertain === true ? '' : '?'}`;
    return [`i2c-${number}`, addressInWords(address), kind, chipSnippet(chip)];
  });
  return { found, rows: [['BUS', 'ADDRESS', 'CHIP', 'CONFIGURATION'], ...rows] };
}

async function scanGpio(ports: Ports, _flags: ScanFlags, edge: Edge): Promise<Found> {
  const found = await ports.gpio.list(edge.signal);
  const rows = found.map(({ chip, label, offset, name, holder, direction }) => {
    const line = name === undefined || name === '' ? `{ chip: ${chip}, offset: ${offset} }` : name;
    const [use, snippet] = holder === undefined ? ['free', `line: ${line}`] : [`held by ${printable(holder)}`, ''];
    return [`${chip} ${offset}`, printable(label), printable(name ?? ''), direction ?? '', use, snippet];
  });
  return { found, rows: [['LINE', 'CHIP', 'NAME', 'NOW', 'USE', 'CONFIGURATION'], ...rows] };
}

async function scanOneWire(ports: Ports, _flags: ScanFlags, edge: Edge): Promise<Found> {
  const found = (await ports.oneWire.list(edge.signal)).map((id) => ({ id }));
  const rows = found.map(({ id }) => {
    const kind = oneWireKind(id);
    return kind === undefined ? [id, '?', ''] : [id, kind, `- { name: thermometer, kind: ${kind}, id: ${id} }`];
  });
  return { found, rows: [['ID', 'CHIP', 'CONFIGURATION'], ...rows] };
}

async function scanKernel(ports: Ports, kind: KernelKind, edge: Edge): Promise<Found> {
  const { findKernelDevices } = await import('../scan/find-kernel-devices.ts');
  const found = await findKernelDevices(ports, [kind], edge.signal);
  const rows = found.map((device) => {
    const section = kernelSection(device, new FreeNames(), { hasKeys: false });
    return [printable(device.chip), printable(device.place), device.channels.join(' '), kernelSnippet(section)];
  });
  return { found, rows: [['CHIP', 'PLACE', 'CHANNELS', 'CONFIGURATION'], ...rows] };
}
