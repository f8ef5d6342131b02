/** Twin on a simulated board's port: a receiver that stands nearly still. */
import type { Twin } from '../../stand-ins/simulated-board/twin.ts';

const constant = (value: number) => ({ kind: 'constant', value }) as const;

export const twin: Twin = {
  fitting: () => ({
    talk: { kind: 'nmea', latitude: constant(47.07), longitude: constant(15.44), speedKnots: constant(0.2) },
  }),
};
