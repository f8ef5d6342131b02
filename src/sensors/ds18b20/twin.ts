/** Twin on a simulated board's one-wire bus: a thermometer of that id. */
import { TEMPERATURE } from '../../stand-ins/simulated-board/room-signals.ts';
import type { Twin } from '../../stand-ins/simulated-board/twin.ts';
import type { Ds18b20Config } from './definition.ts';

const FIRST = '28-000000000001';

export const twin: Twin = { fitting: ({ id = FIRST }: Ds18b20Config) => ({ oneWire: { id, signal: TEMPERATURE } }) };
