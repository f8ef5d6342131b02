/** Findings of the doctor, when somebody asks it. */
import { byId, el, setText } from '../shared/dom.js';

const WORDS = { warning: 'to look after', fault: 'fault', unknown: 'not known' };
const CLASSES = { warning: 'warn', fault: 'bad', unknown: 'quiet' };

export function prepareDoctor() {
  byId('doctor-run').addEventListener('click', () => void run());
}

async function run() {
  const button = byId('doctor-run');
  button.disabled = true;
  setText(byId('doctor-state'), 'Looking …');
  try {
    const answer = await fetch('/api/doctor');
    if (!answer.ok) throw new Error(`the agent answered ${answer.status}`);
    show(await answer.json());
  } catch (error) {
    setText(byId('doctor-state'), `It could not be asked: ${error.message}`);
  } finally {
    button.disabled = false;
  }
}

function show({ findings, good }) {
  const found = findings.length === 0 ? 'nothing else' : `${findings.length} to read`;
  setText(byId('doctor-state'), `${good.length} good, ${found}.`);
  byId('doctor-list').replaceChildren(
    ...findings.map(({ title, verdict, reason, remedy = '' }) =>
      el(
        'li',
        {},
        el('strong', { class: CLASSES[verdict] }, `${title}: ${WORDS[verdict] ?? verdict}. `),
        `${reason} `,
        el('span', { class: 'quiet' }, remedy),
      ),
    ),
  );
}
