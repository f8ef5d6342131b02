/** Names of slots: entries of `devices:`, to which sensors and actuators refer. */
import { text } from './fields.ts';

export const slotName = () => text(/^[A-Za-z0-9_-]{1,64}$/, 'a name of 1 to 64 letters, digits, - and _');
