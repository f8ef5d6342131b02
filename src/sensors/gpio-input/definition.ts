/** A GPIO line that is on or off. Key `state`: reported at every change and every period. */
import { gpioInputFields } from '../../config/fields/addresses.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

const schema = sensorSection('gpio-input', () => gpioInputFields);

export type GpioInputConfig = ConfigOf<typeof schema>;

export const gpioInput = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  units: { state: null },
  valueType: () => 'boolean',
});
