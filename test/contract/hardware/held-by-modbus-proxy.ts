/**
 * Outside CI: a write that modbus-proxy 0.8.0 (PyPI) holds, told as unknown, ends in the true state. It needs python3 with venv, and a package index.
 *
 *   ./scripts/dev.sh node test/contract/hardware/held-by-modbus-proxy.ts
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ActuatorSlot } from '../../../src/actuators/actuator-slot.ts';
import type { ModbusWriteConfig } from '../../../src/actuators/modbus-write/definition.ts';
import { opener } from '../../../src/actuators/modbus-write/driver.ts';
import { PinRecord } from '../../../src/actuators/pin-record.ts';
import { messageOf } from '../../../src/errors/agent-error.ts';
import { linuxPorts } from '../../../src/hardware/linux-ports.ts';
import { systemClock as clock } from '../../../src/host/clock.ts';
import { runProgram } from '../../../src/host/run-program.ts';
import { relaySettings } from '../../support/fake-actuator.ts';

const never = new AbortController().signal;
const folder = await mkdtemp(join(tmpdir(), 'turnstone-proxy-'));
const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** A unit with one register that answers its first write late. */
let register = 20;
let delayMs = 4_000;
const unit = createServer((socket) => {
  socket.on('error', () => {});
  socket.on('data', async (request) => {
    const isWrite = request[7] === 6;
    const waitMs = isWrite ? delayMs : 0;
    if (isWrite) delayMs = 0;
    await sleep(waitMs);
    if (isWrite) register = request.readUInt16BE(10);
    const head = request.subarray(0, 4);
    const read = Buffer.from([0, 5, 1, 3, 2, register >> 8, register & 0xff]);
    socket.write(isWrite ? request : Buffer.concat([head, read]));
  });
});

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const unitPort = await portOf(unit);
const free = createServer();
const port = await portOf(free);
free.close();
execFileSync('python3', ['-m', 'venv', folder]);
execFileSync(join(folder, 'bin/pip'), ['install', '-q', 'modbus-proxy==0.8.0']);
const proxy = spawn(join(folder, 'bin/modbus-proxy'), [
  ...['-b', `tcp://127.0.0.1:${port}`],
  ...['--modbus', `tcp://127.0.0.1:${unitPort}`],
]);
await sleep(2_000);

const ports = linuxPorts(clock, 'character-device');
const config = {
  kind: 'modbus-write',
  name: 'setPoint',
  connection: { transport: 'tcp', host: '127.0.0.1', port, responseTimeoutMs: 1_000 },
  unitId: 1,
  table: 'holding',
  address: 0,
  type: 'uint16',
  wordOrder: 'big',
  byteOrder: 'big',
  scale: 1,
  offset: 0,
  readBack: true,
} as unknown as ModbusWriteConfig;
const driver = await opener(config, { ports, clock, runProgram })(never);
const settings = relaySettings('setPoint', { valueType: 'number', deadlineMs: 5_000 });
const record = new PinRecord({ settings, clock, history: { switchedOnAtMs: [], changedAtMs: undefined } });
const slot = new ActuatorSlot({ record, driver, clock, onChange: () => {}, onDue: () => {} });
let code = 1;
try {
  const told = await slot.move({ value: 30, by: 'rpc' }, never).then(() => 'moved', messageOf);
  say(`told: ${told}`);
  say(`state: ${String(record.value)}; unit: ${register}`);
  await slot.known(never);
  say(`state: ${String(record.value)}; unit: ${register}`);
  code = told.includes('not known') && record.value === register && register === 30 ? 0 : 1;
} finally {
  await slot.close();
  await ports.close();
  proxy.kill();
  unit.close();
  await rm(folder, { recursive: true, force: true });
}
process.exit(code);
