/** The contract suites of the hardware ports on the lab's own pins and bus. */
import { afterAll } from 'vitest';
import { Guest } from './guest.ts';
import { insideSuite } from './inside-suite.ts';

const guest = await Guest.boot();
afterAll(async () => await guest.kill());
await guest.run('/lab/test/lab/guest/board');
const bus = (await guest.run('cat /run/i2c-bus')).trim();
await insideSuite(guest, {
  files: ['test/contract/hardware/gpio.test.ts', 'test/contract/hardware/i2c.test.ts', 'test/contract/hardware/serial.test.ts'],
  environment: { TEST_GPIO_CHIP: 'lab-board', TEST_I2C_BUS: bus },
});
