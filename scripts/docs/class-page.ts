/** The page of classes: what each brings. */
import { CLASSES, type Class } from '../../src/pages/names/classes.js';
import type { ReferencePage } from './kind-pages.ts';
import { code, page, table } from './markdown.ts';

const SAYS =
  'Classes of values and outputs: words of a state, digits, scaling, and which output asks before it is switched.';

const SCALING: Readonly<Record<NonNullable<Class['scaling']>, string>> = {
  thousands: '1234 W is 1.23 kW',
  energy: 'Wh as kWh',
  time: '3900 s is 1 h 5 min',
};

export function classPage(): ReferencePage {
  const rows = Object.entries(CLASSES).map(([name, { states, decimals, significant, scaling, asksFirst }]) => [
    code(name),
    states?.join(', ') ?? '',
    decimals === undefined ? (significant === undefined ? '' : `${significant} digits`) : `${decimals} after the point`,
    scaling === undefined ? '' : SCALING[scaling],
    asksFirst === true ? 'yes' : '',
  ]);
  return {
    path: 'classes.md',
    name: 'classes',
    says: SAYS,
    text: page('Classes', [
      SAYS,
      `${code('class:')} stands at a key, at a sensor with one key, or at an actuator. Without it the unit and the key tell the class of a measurement. Any other word of small letters, digits and _ is a class without digits and words.`,
      table(['Class', 'True, false', 'Digits', 'Scaling', 'Asks first'], rows),
    ]),
  };
}
