/**
 * Dialog of a change of the configuration: what is typed is first looked at by the agent, which says what differs, what is wrong and what is locked; then it
 * goes on trial, and the dialog tells how it stands. What was typed stays until it is handed over, whoever else changes the file.
 *
 *   fields ─► check ─► difference ─► trial ─► kept | returned | refused
 */
import './change-texts.js';
import { byId, el, setText } from '../shared/dom.js';
import { foreign, named } from '../shared/forms.js';
import { say, told } from '../shared/texts.js';
import { called, instant, plain, reading } from '../shared/words.js';
import { newGroups, outputGroups, sensorGroups } from './change-fields.js';
import {
  additionOf,
  changedFields,
  fieldOfFault,
  fieldsOfLine,
  isAlarmGone,
  isNumeric,
  patchOf,
  wantedText,
  wrongNumbers,
} from './change-patch.js';
import { followChanges, learn, statusNow, trialWords } from './configuration.js';
import { ask } from './switching.js';

/** Where the configuration is, unless somebody has put it elsewhere. */
const FILE = '/etc/turnstone/turnstone.yaml';

let fieldCount = 0;

/** @param subject `{ title, sensors }` with names of sensors, `{ title, output }`, or `{ title, found }` with a part that was found, and `onTried`. */
export function showChange(subject) {
  byId('change')?.remove();
  const dialog = new ChangeDialog(subject);
  document.body.append(dialog.element);
  dialog.element.showModal();
  void dialog.load();
}

class ChangeDialog {
  constructor(subject) {
    this.subject = subject;
    [this.sensor] = subject.sensors ?? [];
    this.fields = [];
    this.base = '';
    this.isGone = false;
    this.isOther = false;
    this.isHandedOver = false;
    this.said = el('p', { class: 'said', role: 'status' });
    this.inputs = el('div', { class: 'change-fields' });
    this.result = el('div', { class: 'change-result', role: 'region', 'aria-label': say('whatChanges'), hidden: true });
    this.check = el('button', { type: 'submit', class: 'main' }, say('showDifference'));
    this.try = el(
      'button',
      { type: 'button', class: 'main', hidden: true, onclick: () => void this.#try() },
      say('tryIt'),
    );
    this.again = el('button', { type: 'button', hidden: true, onclick: () => void this.load() }, say('lookAgain'));
    this.close = el('button', { type: 'button', onclick: () => this.element.close() }, say('cancel'));
    const submit = (event) => {
      event.preventDefault();
      void this.#check();
    };
    this.form = el('form', { onsubmit: submit, oninput: () => this.#forgetCheck() });
    this.form.append(
      ...(subject.sensors?.length > 1 ? [this.#choice()] : []),
      this.inputs,
      this.result,
      this.said,
      el('div', { class: 'row' }, this.check, this.try, this.again, this.close),
    );
    const what = subject.found?.what;
    const title =
      what === undefined ? say('changeTitle', { name: subject.title }) : say('addTitle', { what: foreign(what) });
    this.element = el(
      'dialog',
      { id: 'change', 'aria-labelledby': 'change-title' },
      el('h2', { id: 'change-title' }, title),
      this.form,
    );
    this.element.addEventListener('close', () => this.#leave());
    followChanges((answer) => this.#followFile(answer));
  }

  /** Stays, with what was typed, when the session has ended: the page opens it again. */
  #leave() {
    if (this.element.returnValue !== 'pin') {
      this.isGone = true;
      return this.element.remove();
    }
    this.element.dataset.kept = 'yes';
    setText(this.said, '');
  }

  /** Says at once that somebody else has changed the file. Returns false once the dialog is gone. */
  #followFile({ fileHash }) {
    if (this.isGone) return false;
    const isSame = fileHash === this.base || fileHash === '';
    if (this.base === '' || this.isHandedOver || isSame !== this.isOther) return undefined;
    // The answer may be older than the values here.
    if (!isSame) void this.#sayOtherFile();
    // The change of the other was taken back.
    else void this.load();
    return undefined;
  }

  /** Gets the present values; what was typed since stays. */
  async load() {
    this.again.hidden = true;
    // A look at values that are not here yet would be forgotten when they come.
    this.check.disabled = true;
    setText(this.said, say('looking'));
    const { sensors } = this.subject;
    const asked = sensors === undefined ? ask('configurationStatus', {}) : ask('sensorSettings', { name: this.sensor });
    const { answer, words } = await asked;
    if (answer === undefined) {
      this.again.hidden = false;
      sayFault(this.said, say('settingsFailed', { words }));
      return;
    }
    setText(this.said, '');
    this.base = answer.base ?? answer.fileHash;
    this.isOther = false;
    const bare = await this.#lookAtPart();
    this.#forgetCheck();
    if (bare?.answer?.locked.length > 0) return this.#sayLocked(bare.answer);
    this.#build(this.#groups(answer));
    this.check.disabled = false;
  }

  /** Asks whether a part that was found may be added at all, before anybody fills a form in. */
  async #lookAtPart() {
    const { found } = this.subject;
    if (found === undefined) return undefined;
    return await ask('configure', { patch: additionOf(this.base, found.sensor, []), check: true });
  }

  /** Says what is locked in place of the form. */
  #sayLocked(answer) {
    this.inputs.replaceChildren();
    this.check.hidden = true;
    this.result.replaceChildren(...lockedWords(answer));
    this.result.hidden = false;
    setText(this.close, say('close'));
    this.again.hidden = false;
    this.close.focus();
  }

  #groups(answer) {
    const { output, found } = this.subject;
    const { actuators } = statusNow();
    if (found !== undefined) return newGroups(found.sensor);
    return output === undefined
      ? sensorGroups(answer)
      : outputGroups(actuators.find(({ name }) => name === output.name) ?? output);
  }

  /** Lets a person say which sensor of a card is meant. */
  #choice() {
    const { sensors } = this.subject;
    const labels = new Map(statusNow().sensors.map(({ name, label }) => [name, label]));
    const change = ({ currentTarget }) => {
      this.sensor = currentTarget.value;
      this.fields = [];
      void this.load();
    };
    const options = sensors.map((name) => {
      const title = called({ label: labels.get(name), key: name });
      return el('option', { value: name }, title === name ? name : `${title} (${name})`);
    });
    return el(
      'div',
      {},
      el('label', { for: 'change-sensor' }, say('whichSensor')),
      el('select', { id: 'change-sensor', onchange: change }, ...options),
    );
  }

  #build(groups) {
    const typed = new Map(this.fields.filter(({ before, value }) => value !== before).map((one) => [one.path, one]));
    for (const { fields } of groups)
      for (const field of fields) {
        const earlier = typed.get(field.path);
        if (earlier === undefined) continue;
        // A limit that somebody has changed meanwhile is shown beside what was typed.
        field.note =
          earlier.before === field.before ? undefined : say('isNow', { value: shownOf(field, field.before) });
        field.value = earlier.value;
      }
    this.fields = groups.flatMap(({ title = '', fields }) => fields.map((one) => Object.assign(one, { group: title })));
    this.inputs.replaceChildren(
      ...groups.map(({ title, fields, notes, isOpen }) => {
        const rows = [...fields.map(makeField), ...notes.map((words) => el('p', { class: 'quiet' }, words))];
        if (title === undefined) return el('div', {}, ...rows);
        const isTyped = fields.some(({ value, before }) => value !== before);
        return el('details', { open: isOpen || isTyped }, el('summary', {}, el('bdi', {}, title)), ...rows);
      }),
    );
  }

  #forgetCheck() {
    this.patch = undefined;
    this.try.hidden = true;
    this.check.hidden = false;
    this.result.hidden = true;
    setText(this.said, '');
    for (const field of this.fields) sayMistake(field, '');
    for (const stray of this.inputs.querySelectorAll('.stray')) stray.remove();
  }

  #patchNow() {
    const { found } = this.subject;
    return found === undefined ? patchOf(this.base, this.fields) : additionOf(this.base, found.sensor, this.fields);
  }

  /** Says at each field where a number is needed that none was typed. */
  #hasWrongNumbers() {
    const wrong = wrongNumbers(this.fields);
    for (const field of wrong)
      sayMistake(
        field,
        field.least === undefined ? say('noNumber') : say('noNumberFrom', { least: plain(field.least) }),
      );
    if (wrong.length === 0) return false;
    sayFault(this.said, say('faultsFound', { count: wrong.length }));
    wrong[0].input.focus();
    return true;
  }

  /** Asks the agent what would change; nothing is changed by it. */
  async #check() {
    this.#forgetCheck();
    if (this.subject.found === undefined && changedFields(this.fields).length === 0)
      return setText(this.said, say('nothingChanged'));
    if (this.#hasWrongNumbers()) return;
    const patch = this.#patchNow();
    setText(this.said, say('looking'));
    this.said.className = 'said quiet';
    const asked = await ask('configure', { patch, check: true });
    // Something was typed meanwhile.
    if (JSON.stringify(patch) !== JSON.stringify(this.#patchNow())) return setText(this.said, '');
    this.#show(asked, patch);
  }

  #show({ answer, words }, patch) {
    this.try.hidden = true;
    this.check.hidden = false;
    if (answer === undefined) return sayFault(this.said, words);
    if (answer.faults.some(({ path }) => path === 'base')) return void this.#sayOtherFile();
    const { state, difference, locked, faults, needs, reason } = answer;
    setText(this.said, '');
    const count = this.#sayFaults(faults);
    const isGood = state === 'checked' || state === 'received';
    this.result.replaceChildren(
      ...(difference.length === 0 ? [] : [el('h3', {}, say('whatChanges')), this.#differenceList(difference)]),
      ...(locked.length === 0 ? [] : lockedWords(answer)),
      ...(isGood && needs === 'restart' ? [el('p', {}, say('restartsAgent'))] : []),
      ...(isGood ? [el('p', { class: 'try-hint quiet' }, say('tryHint'))] : []),
    );
    this.result.hidden = this.result.childElementCount === 0;
    if (count > 0) sayFault(this.said, say('faultsFound', { count }));
    else if (!isGood && locked.length === 0) sayFault(this.said, say('notDone', { reason: told(reason) }));
    if (!isGood) {
      if (count === 0 && locked.length > 0) show(this.result);
      return;
    }
    this.patch = patch;
    this.try.hidden = false;
    this.check.hidden = true;
    this.try.focus();
  }

  #differenceList(difference) {
    const lines = difference.flatMap((line) => {
      const { path, words, fields } = fieldsOfLine(line, changedFields(this.fields));
      const { found } = this.subject;
      if (found !== undefined && path.startsWith('sensors')) return this.#newLines(path);
      if (fields.length === 0) return [[foreign(words), path]];
      return fields.map((field) => [this.#lineOf(field), field.path]);
    });
    return el(
      'ul',
      {},
      ...lines.map(([words, path]) => el('li', {}, words, ...(path === undefined ? [] : [' ', el('code', {}, path)]))),
    );
  }

  /** Lines of a new sensor: what it is called, when it is read, and what it reads. */
  #newLines(path) {
    const { what, readings = [] } = this.subject.found;
    const name = path.slice('sensors.'.length);
    const typedIn = (member) => wantedText(this.fields.find((field) => field.member === member) ?? { value: '' });
    const [label, period] = [typedIn('label'), typedIn('period')];
    return [
      [say('addLine', { name, what: foreign(what) }), path],
      [say('newLine', { field: say('label'), value: named(label === '' ? called({ key: name }) : label) })],
      [say('newLine', { field: say('period'), value: period === '' ? say('usualPeriod') : period })],
      ...(readings.length === 0 ? [] : [[say('partReads', { readings: foreign(readings.join(', ')) })]]),
    ];
  }

  #lineOf(field) {
    const { group, words, before } = field;
    const line = say('changeLine', {
      group: group === '' ? this.subject.title : `${this.subject.title}, ${group}`,
      field: words,
      before: shownOf(field, before),
      after: shownOf(field, wantedText(field)),
    });
    return isAlarmGone(field) ? `${line}. ${say('alarmGoes')}` : line;
  }

  /** Says each fault at its field; returns how many there are. */
  #sayFaults(faults) {
    for (const fault of faults) {
      const field = fieldOfFault(fault, this.fields);
      const { problem, expected, hint } = fault;
      const words = say('faultWords', {
        problem: foreign(problem),
        expected: foreign(expected),
        hint: hint === undefined ? undefined : foreign(hint),
      });
      if (field !== undefined) sayMistake(field, words);
      else
        this.inputs.append(el('p', { class: 'mistake stray', role: 'alert' }, el('code', {}, fault.path), ' ', words));
    }
    const first = faults.map((fault) => fieldOfFault(fault, this.fields)).find((field) => field !== undefined);
    first?.input.focus();
    return faults.length;
  }

  /** Says that the values are those of another file by now, and when it came. */
  async #sayOtherFile() {
    const { answer } = await ask('configurationStatus', {});
    const { state, history = [], fileHash } = answer ?? {};
    if (fileHash === this.base || this.isGone || this.isHandedOver) return;
    this.isOther = true;
    const change = [state, ...history].find((one) => one?.hash === fileHash);
    this.#forgetCheck();
    sayFault(this.said, say('otherFile', { at: change === undefined ? undefined : instant(change.atMs) }));
    this.again.hidden = false;
    this.check.hidden = true;
    if (!this.inputs.contains(document.activeElement)) this.again.focus();
  }

  /** Hands the change over that was looked at. */
  async #try() {
    const { patch } = this;
    if (patch === undefined) return;
    this.try.hidden = true;
    this.isHandedOver = true;
    setText(this.said, say('sent'));
    const asked = await ask('configure', { patch });
    if (asked.answer?.state !== 'received') {
      this.isHandedOver = false;
      return this.#show(asked, patch);
    }
    this.subject.onTried?.();
    this.#follow(asked.answer.hash);
    // On a phone the countdown lies below what was typed.
    show(this.close);
  }

  /** Tells of the trial until its end. */
  #follow(hash) {
    this.inputs.hidden = true;
    this.result.querySelector('.try-hint')?.remove();
    this.check.hidden = true;
    this.form.querySelector('#change-sensor')?.parentElement.remove();
    setText(this.close, say('close'));
    this.close.focus();
    const left = el('p', { class: 'quiet' });
    this.said.after(left);
    this.said.className = 'said';
    setText(this.said, say('changeReceived'));
    followChanges((answer) => {
      if (!this.element.isConnected) return false;
      if (answer.state?.hash !== hash && answer.trial?.hash !== hash) return undefined;
      const [words, time] = trialWords(answer);
      setText(this.said, words);
      setText(left, time);
      return undefined;
    });
    void learn();
  }
}

function makeField(field) {
  fieldCount += 1;
  const id = `change-${fieldCount}`;
  const input = el('input', {
    id,
    type: 'text',
    maxlength: field.maxlength,
    required: field.required,
    // The pad for decimals of some phones has no minus.
    inputmode: field.least >= 0 ? 'decimal' : undefined,
    autocomplete: 'off',
    'aria-describedby': `${id}-hint ${id}-mistake`,
    oninput: () => {
      field.value = input.value;
      sayHint();
    },
  });
  input.value = field.value;
  const mistake = el('p', { id: `${id}-mistake`, class: 'mistake', role: 'alert' });
  Object.assign(field, { input, mistake });
  const hint = el('p', { id: `${id}-hint`, class: 'quiet hint' });
  const sayHint = () => {
    const gone = isAlarmGone(field) ? say('alarmGoes') : undefined;
    setText(hint, [gone, field.note, field.hint].filter((words) => words !== undefined).join(' '));
  };
  sayHint();
  return el('div', {}, el('label', { for: id }, field.words), input, hint, mistake);
}

/** Words for what is locked, and for what somebody on site does about it. */
function lockedWords({ locked, needsAllowed = [] }) {
  const allow = needsAllowed.join(', ');
  return [
    el('h3', { class: 'bad' }, say('lockedTitle')),
    el('ul', {}, ...locked.map((line) => el('li', {}, foreign(line)))),
    el('p', {}, allow === '' ? say('lockedHint', { file: FILE }) : say('lockedAllow', { file: FILE, allow })),
  ];
}

function sayMistake({ input, mistake }, words) {
  if (words === '') input?.removeAttribute('aria-invalid');
  else {
    input.setAttribute('aria-invalid', 'true');
    const fold = input.closest('details');
    if (fold !== null) fold.open = true;
  }
  if (mistake !== undefined) setText(mistake, words);
}

function sayFault(element, words) {
  element.className = 'said bad';
  setText(element, words);
  show(element);
}

/** Brings what was answered into view, on a phone below many fields. */
function show(element) {
  element.scrollIntoView({ block: 'nearest' });
}

function shownOf(field, text) {
  if (text === '') return say('noValue');
  return isNumeric(field) ? reading(Number(text), field.unit) : text;
}
