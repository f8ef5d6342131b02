/**
 * What is on an I2C bus: every address is asked for one byte, and who answers is recognised by its id register or by the values its
 * registers have after power-on. Reading is all that is done, apart from the register's number that must be written first.
 */
import type { SensorKind } from '../config/agent-config.ts';
import { addressInWords, type I2cBus } from '../hardware/i2c-port.ts';
import type { Ports } from '../hardware/ports.ts';
import type { Finding } from './finding.ts';
import { crc8 } from './sht3x.ts';

/** Addresses outside are reserved (UM10204, section 3.1.12). */
const FIRST_ADDRESS = 0x08;
const LAST_ADDRESS = 0x77;
/** A bus that hangs must not hang the scan. */
const TRANSFER_DEADLINE_MS = 500;

interface Recogniser {
  readonly kind: SensorKind;
  readonly addresses: readonly [number, number];
  /** `sure`: an id that no other chip has; `likely`: values after power-on; undefined: not this chip. */
  readonly recognise: (bus: I2cBus, address: number, signal: AbortSignal) => Promise<Finding['certainty'] | undefined>;
}

/** The most certain first. */
const RECOGNISERS: readonly Recogniser[] = [
  { kind: 'bme280', addresses: [0x76, 0x77], recognise: hasByte(0xd0, 0x60) },
  { kind: 'bmp280', addresses: [0x76, 0x77], recognise: hasByte(0xd0, 0x58) },
  { kind: 'mcp9808', addresses: [0x18, 0x1f], recognise: hasWords('sure', { 6: 0x0054, 7: 0x0400 }) },
  { kind: 'sht3x', addresses: [0x44, 0x45], recognise: answersWithSum },
  // Reset values: SBAS444D table 8, SBOS397 table 8 with the lower byte's conversion rate, LM75B table 7, SBOS448G table 2.
  { kind: 'ads1115', addresses: [0x48, 0x4b], recognise: hasWords('likely', { 1: 0x8583 }) },
  { kind: 'tmp102', addresses: [0x48, 0x4b], recognise: hasWords('likely', { 1: 0x60a0 }) },
  { kind: 'lm75', addresses: [0x48, 0x4f], recognise: hasWords('likely', { 2: 0x4b00, 3: 0x5000 }) },
  { kind: 'ina219', addresses: [0x40, 0x4f], recognise: hasWords('likely', { 0: 0x399f }) },
  { kind: 'bh1750', addresses: [0x23, 0x23], recognise: async () => 'by-address' },
  { kind: 'bh1750', addresses: [0x5c, 0x5c], recognise: async () => 'by-address' },
];

/** Everything that answers on one bus. @throws AgentError as I2cPort.openBus. */
export async function scanI2c(ports: Pick<Ports, 'i2c'>, busNumber: number, signal: AbortSignal): Promise<readonly Finding[]> {
  const bus = await ports.i2c.openBus(busNumber, signal);
  try {
    const findings: Finding[] = [];
    for (let address = FIRST_ADDRESS; address <= LAST_ADDRESS; address += 1) {
      if (await answers(bus, address, signal)) findings.push(await identify(bus, busNumber, address, signal));
    }
    return findings;
  } finally {
    await bus.close();
  }
}

async function answers(bus: I2cBus, address: number, signal: AbortSignal): Promise<boolean> {
  return await bus.probe(address, limited(signal)).catch(() => false);
}

async function identify(bus: I2cBus, busNumber: number, address: number, signal: AbortSignal): Promise<Finding> {
  const where = `${bus.name} ${addressInWords(address)}`;
  for (const { kind, addresses, recognise } of RECOGNISERS) {
    if (address < addresses[0] || address > addresses[1]) continue;
    const certainty = await recognise(bus, address, limited(signal)).catch(() => undefined);
    if (certainty === undefined) continue;
    // An ADC needs to be told its inputs.
    const more = kind === 'ads1115' ? ', channels: { A0: { input: A0 }, A1: { input: A1 }, A2: { input: A2 }, A3: { input: A3 } }' : '';
    const name = `${kind}-${address.toString(16)}`;
    return {
      where,
      what: kind,
      certainty,
      snippet: `- { name: ${name}, kind: ${kind}, bus: ${busNumber}, address: ${addressInWords(address)}${more} }`,
    };
  }
  return { where, what: 'an unknown chip', certainty: 'unknown' };
}

function hasByte(register: number, wanted: number): Recogniser['recognise'] {
  return async (bus, address, signal) => ((await bus.readRegisters(address, register, 1, signal))[0] === wanted ? 'sure' : undefined);
}

function hasWords(certainty: 'sure' | 'likely', words: Readonly<Record<number, number>>): Recogniser['recognise'] {
  return async (bus, address, signal) => {
    for (const [register, wanted] of Object.entries(words))
      if ((await bus.readWord(address, Number(register), signal)) !== wanted) return undefined;
    return certainty;
  };
}

/** The SHT3x's status register comes with a check sum (command 0xf32d, section 4.11). */
async function answersWithSum(bus: I2cBus, address: number, signal: AbortSignal): Promise<'sure' | undefined> {
  await bus.write(address, Uint8Array.of(0xf3, 0x2d), signal);
  const answer = await bus.read(address, 3, signal);
  return crc8(answer.subarray(0, 2)) === answer[2] ? 'sure' : undefined;
}

function limited(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(TRANSFER_DEADLINE_MS)]);
}
