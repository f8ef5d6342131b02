/** The hardware contract suites, and what only a real kernel can show, over the guest's simulated lines, bus and ports. */
import { afterAll } from 'vitest';
import { BME280, setRegisters } from './chips.ts';
import { Guest } from './guest.ts';
import { insideSuite } from './inside-suite.ts';

const guest = await Guest.boot();
afterAll(async () => await guest.kill());
await guest.run('/lab/test/lab/guest/board');
await setRegisters(guest, BME280.address, BME280.registers);
// A plug whose two wires are joined.
const loop = await guest.serial('ttyS1');
loop.on('data', (bytes) => loop.write(bytes));

await insideSuite(guest, {
  files: [
    'test/contract/hardware/gpio.test.ts',
    'test/contract/hardware/i2c.test.ts',
    'test/contract/hardware/serial.test.ts',
  ],
  environment: {
    TEST_GPIO_CHIP: 'lab-board',
    TEST_I2C_BUS: (await guest.run('cat /run/i2c-bus')).trim(),
    TEST_I2C_ADDRESS: String(BME280.address),
    TEST_SERIAL_PORT: '/dev/ttyS1',
  },
});
// A machine that is busy otherwise makes burst after burst until one has its rate.
await insideSuite(guest, { files: ['test/lab/inside/gpio.inside.ts'], deadlineMs: 480_000 });
