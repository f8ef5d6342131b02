/**
 * Patch of a change on the page. A field is `{ path, before, value, kind }`, its value as text: `text`, `span` and `number` set or remove their member,
 * `alarm` sets a limit that is there or removes the alarm `item`, `newAlarm` adds one with the comparison `how` to a list.
 */
import { numberIn, spanIn } from '../shared/typed-values.js';

const NUMBERS = ['number', 'alarm', 'newAlarm'];

export function isNumeric({ kind }) {
  return NUMBERS.includes(kind);
}

/** Returns what was typed in a field, as the file has it; what cannot be understood stays as it is. */
export function wantedText(field) {
  const text = field.value.trim();
  if (field.kind === 'span') return spanIn(text);
  return isNumeric(field) ? String(numberIn(text) ?? text) : text;
}

/** True for an alarm that goes, as its limit was emptied. */
export function isAlarmGone({ kind, before, value }) {
  return kind === 'alarm' && before !== '' && value.trim() === '';
}

/** Returns the fields in which a number is needed and none was typed, or one below its least. */
export function wrongNumbers(fields) {
  return fields.filter((field) => {
    const text = field.value.trim();
    if (!isNumeric(field) || text === '') return false;
    const number = numberIn(text);
    return number === undefined || number < (field.least ?? Number.NEGATIVE_INFINITY);
  });
}

/** Returns the fields that differ from what they were. */
export function changedFields(fields) {
  return fields.filter((field) => wantedText(field) !== field.before);
}

/** Returns the patch of the changed fields, made for the file with this hash. */
export function patchOf(base, fields) {
  const [set, remove, add] = [{}, [], {}];
  const changed = changedFields(fields);
  const gone = changed.filter(isAlarmGone).map(({ item }) => item);
  remove.push(...gone);
  for (const field of changed) {
    const { path, kind, item, how } = field;
    const text = wantedText(field);
    if (gone.includes(item)) continue;
    if (kind === 'newAlarm') add[path] = [...(add[path] ?? []), { [how]: Number(text) }];
    else if (text === '') remove.push(path);
    else set[path] = isNumeric(field) ? Number(text) : text;
  }
  const patch = { base };
  if (Object.keys(set).length > 0) patch.set = set;
  if (remove.length > 0) patch.remove = remove;
  if (Object.keys(add).length > 0) patch.add = add;
  return patch;
}

/** Returns the patch that adds a sensor with these fields. */
export function additionOf(base, sensor, fields) {
  const item = Object.assign({}, sensor);
  for (const field of fields) {
    const { member } = field;
    const text = wantedText(field);
    if (text === '') delete item[member];
    else item[member] = text;
  }
  return { base, add: { sensors: [item] } };
}

/** Returns the fields behind a line of the agent's difference, such as `sensors.roof.period: 10s → 30s`, and its words. */
export function fieldsOfLine(line, fields) {
  const [path] = line.split(': ', 1);
  const words = line.slice(path.length + 2);
  const isBelow = (place) => place === path || place.startsWith(`${path}.`) || place.startsWith(`${path}[`);
  return { path, words, fields: fields.filter((field) => isBelow(field.path)) };
}

/** Returns the field that a fault of the agent is about. It names items of lists by their number, and by their name where the patch is at fault. */
export function fieldOfFault({ path }, fields) {
  const sought = wordsOf(path).slice(2).join('.');
  return (
    fields.find((field) => field.path === path) ??
    (sought === '' ? undefined : fields.find((field) => wordsOf(field.path).slice(2).join('.') === sought))
  );
}

function wordsOf(path) {
  return path.split(/[.[\]"]+/).filter((word) => word !== '');
}
