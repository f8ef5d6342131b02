/** `turnstone scan`: what hangs on a bus or port, and the lines of configuration that switch it on. */
import { type Command, InvalidArgumentError } from 'commander';
import { peekHardware } from '../config/peek-hardware.ts';
import { addressInWords } from '../hardware/i2c-port.ts';
import { openPorts } from '../hardware/open-ports.ts';
import type { Ports } from '../hardware/ports.ts';
import { systemClock } from '../host/clock.ts';
import type { Edge } from './edge.ts';
import { CommandError } from './exit-code.ts';
import { chipSnippet } from './first-config.ts';
import { ProgressBar } from './progress-bar.ts';
import { type FoundChip, scanI2cBus } from './scan-board.ts';
import { printable } from './style.ts';
import { columns } from './table.ts';

interface ScanFlags {
  readonly bus?: number;
  readonly config?: string;
  readonly simulate?: string;
  readonly addressesOnly?: boolean;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  $ turnstone scan i2c
  $ turnstone scan i2c --bus 1 --json
  $ turnstone scan serial
  $ turnstone scan gpio
  $ turnstone scan one-wire

Nothing is configured and no port opened. To tell I2C chips apart a register of each that answers is read. A few simple converters, expanders
and bus switches have none and take the register’s number for a setting: where one of them drives something, look with --addresses-only.`;

type Row = readonly string[];
/** What was found: as it is, and as rows for people below their headings. */
interface Found {
  readonly found: readonly object[];
  readonly rows: readonly Row[];
}

const BUSES: Readonly<Record<string, (ports: Ports, flags: ScanFlags, edge: Edge) => Promise<Found>>> = {
  i2c: scanI2c,
  serial: scanSerial,
  gpio: scanGpio,
  'one-wire': scanOneWire,
};

export function addScanCommand(program: Command, edge: Edge): void {
  program
    .command('scan')
    .description('show what hangs on a bus: i2c, serial, gpio or one-wire')
    .argument('<bus>', Object.keys(BUSES).join(', '), busKind)
    .option('--bus <number>', 'only this I2C bus', busNumber)
    .option('--addresses-only', 'on I2C, show who answers and write nothing to them')
    .option('--config <file>', 'use the hardware section of this configuration')
    .option('--simulate <socket>', 'look at the simulated board on this socket')
    .option('--json', 'print what was found as JSON')
    .addHelpText('after', EXAMPLES)
    .action(async (kind: string, flags: ScanFlags) => {
      const hardware =
        flags.simulate === undefined
          ? await peekHardware(flags.config, edge.environment)
          : ({ board: 'simulated', gpio: 'auto', boardSocket: flags.simulate } as const);
      const ports = openPorts({ clock: systemClock, hardware });
      try {
        const result = await BUSES[kind]?.(ports, flags, edge);
        if (result === undefined) return;
        if (flags.json === true) edge.stdout.write(`${JSON.stringify(result.found)}\n`);
        else if (result.found.length === 0) edge.stderr.write(`nothing found; ${ADVICE[kind]}\n`);
        else edge.stdout.write(columns(result.rows, edge.stdout.columns));
      } finally {
        await ports.close();
      }
    });
}

const ADVICE: Readonly<Record<string, string>> = {
  i2c: 'check power, SDA and SCL, and that the bus is enabled',
  serial: 'plug a port in; lsusb and dmesg show whether the kernel sees it',
  gpio: 'this kernel shows no GPIO chip',
  'one-wire': 'check the data line and its pull-up resistor, and that the one-wire bus is enabled',
};

async function scanI2c(ports: Ports, { bus, addressesOnly = false }: ScanFlags, edge: Edge): Promise<Found> {
  const buses = bus === undefined ? await ports.i2c.list(edge.signal) : [bus];
  if (buses.length === 0)
    throw new CommandError('this machine has no I2C bus', {
      nextStep: 'enable it (on a Raspberry Pi: raspi-config, or dtparam=i2c_arm=on), and modprobe i2c-dev',
    });
  const found: FoundChip[] = [];
  for (const number of buses) {
    const bar = new ProgressBar(edge.stderr, `i2c-${number}`);
    try {
      found.push(
        ...(await scanI2cBus(
          ports,
          number,
          { onProgress: (done) => bar.update(done * 112, 112, (amount) => `${amount} addresses`), addressesOnly },
          edge.signal,
        )),
      );
    } finally {
      bar.end();
    }
  }
  const rows = found.map((chip) => [
    `i2c-${chip.bus}`,
    addressInWords(chip.address),
    chip.guess === undefined ? '?' : `${chip.guess.kind}${chip.guess.isCertain ? '' : '?'}`,
    chipSnippet(chip),
  ]);
  return { found, rows: [['BUS', 'ADDRESS', 'CHIP', 'CONFIGURATION'], ...rows] };
}

async function scanSerial(ports: Ports, _flags: ScanFlags, edge: Edge): Promise<Found> {
  const found = await ports.serial.list(edge.signal);
  const rows = found.map(({ path, stablePath, maker, vendorId, productId }) => [
    path,
    printable(maker ?? (vendorId === undefined ? '' : `${vendorId}:${productId ?? ''}`)),
    `- { name: serial, kind: serial-line, port: ${stablePath ?? path}, baudRate: 9600, format: json }`,
  ]);
  return { found, rows: [['PORT', 'MAKER', 'CONFIGURATION'], ...rows] };
}

async function scanGpio(ports: Ports, _flags: ScanFlags, edge: Edge): Promise<Found> {
  const found = await ports.gpio.list(edge.signal);
  const rows = found.map(({ chip, label, offset, name, holder, direction }) => {
    const line = name === undefined || name === '' ? `{ chip: ${chip}, offset: ${offset} }` : name;
    return [
      `${chip} ${offset}`,
      printable(label),
      printable(name ?? ''),
      direction ?? '',
      holder === undefined ? 'free' : `held by ${printable(holder)}`,
      holder === undefined ? `line: ${line}` : '',
    ];
  });
  return { found, rows: [['LINE', 'CHIP', 'NAME', 'NOW', 'USE', 'CONFIGURATION'], ...rows] };
}

async function scanOneWire(ports: Ports, _flags: ScanFlags, edge: Edge): Promise<Found> {
  const found = (await ports.oneWire.list(edge.signal)).map((id) => ({ id }));
  const rows = found.map(({ id }) =>
    id.startsWith('28-') ? [id, 'ds18b20', `- { name: thermometer, kind: ds18b20, id: ${id} }`] : [id, '?', ''],
  );
  return { found, rows: [['ID', 'CHIP', 'CONFIGURATION'], ...rows] };
}

function busKind(text: string): string {
  if (Object.hasOwn(BUSES, text)) return text;
  throw new InvalidArgumentError(`one of ${Object.keys(BUSES).join(', ')}`);
}

function busNumber(text: string): number {
  if (/^\d{1,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('the N of /dev/i2c-N');
}
