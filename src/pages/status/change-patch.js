/**
 * Patch of a change on the page. A field is `{ path, before, value, kind }`, its value as text: `text` and `number` set or remove their member, `alarm`
 * sets a limit that is there or removes the alarm `item`, `newAlarm` adds one with the comparison `how` to a list.
 */

/** Returns the fields that differ from what they were. */
export function changedFields(fields) {
  return fields.filter(({ before, value }) => value.trim() !== before);
}

/** Returns the patch of the changed fields, made for the file with this hash. */
export function patchOf(base, fields) {
  const [set, remove, add] = [{}, [], {}];
  const changed = changedFields(fields);
  const gone = changed.filter(({ kind, value }) => kind === 'alarm' && value.trim() === '').map(({ item }) => item);
  remove.push(...gone);
  for (const { path, kind, value, item, how } of changed) {
    const text = value.trim();
    if (gone.includes(item)) continue;
    if (kind === 'newAlarm') add[path] = [...(add[path] ?? []), { [how]: Number(text) }];
    else if (text === '') remove.push(path);
    else set[path] = kind === 'text' ? text : Number(text);
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
  for (const { member, value } of fields) {
    const text = value.trim();
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
