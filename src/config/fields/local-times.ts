/** Local times as people write them: hours of a day, dates of a year, weekdays. */
import { z } from 'zod';
import { WEEKDAYS } from '../../host/local-time.ts';
import { list, section, text } from './fields.ts';

const timeOfDay = () => text(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'a time of day such as 02:30');
const dayOfYear = () => text(/^(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/, 'a month and a day such as 11-01');

/** Local time; may cross midnight, and ends with the minute before `to`. */
export const hours = () => section({ from: timeOfDay(), to: timeOfDay() });
/** Every year; may cross the new year, and holds on both days too. */
export const dates = () => section({ from: dayOfYear(), to: dayOfYear() });
export const weekdays = () => list(z.enum(WEEKDAYS), { min: 1, max: WEEKDAYS.length });
