/** All that is promised, as far as it can be seen from outside. */
import { SHARE_OF_WORLDS } from '../attached-devices.ts';
import { AFAR } from './afar.ts';
import { ATTACHED } from './attached.ts';
import { CLAIMS } from './claims.ts';
import { COUNTERS } from './counters.ts';
import { DELIVERY } from './delivery.ts';
import { FIELD } from './field.ts';
import { IMAGES } from './images.ts';
import { LIFE } from './life.ts';
import { MOVEMENT } from './movement.ts';
import { RECORD } from './record.ts';
import type { Sentence } from './sentence.ts';
import { SLOTS } from './slots.ts';
import { VALUES } from './values.ts';
import { WISHES } from './wishes.ts';
import { WORDS } from './words.ts';

export const SENTENCES: readonly Sentence[] = [
  ...DELIVERY,
  ...MOVEMENT,
  ...SLOTS,
  ...LIFE,
  ...FIELD,
  ...WISHES,
  ...COUNTERS,
  ...CLAIMS,
  ...IMAGES,
  ...(SHARE_OF_WORLDS > 0 ? ATTACHED : []),
  ...AFAR,
  ...VALUES,
  ...RECORD,
  ...WORDS,
];
