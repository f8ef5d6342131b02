/** GPIO of a real kernel, both interfaces, over simulated lines. */
import { afterAll } from 'vitest';
import { Guest } from './guest.ts';
import { insideSuite } from './inside-suite.ts';

const guest = await Guest.boot();
afterAll(async () => await guest.kill());
await guest.run('/lab/test/lab/guest/board');
await insideSuite(guest, { files: ['test/lab/inside/gpio.inside.ts'] });
