/** Findings of the doctor, when somebody asks it. */
import { byId, el, setText } from '../shared/dom.js';
import { agentLanguage, say, told } from '../shared/texts.js';

const WORDS = { warning: say('findingWarning'), fault: say('findingFault'), unknown: say('findingUnknown') };
const CLASSES = { warning: 'warn', fault: 'bad', unknown: 'quiet' };

export function prepareDoctor() {
  byId('doctor-run').addEventListener('click', () => void run());
}

async function run() {
  const button = byId('doctor-run');
  button.disabled = true;
  setText(byId('doctor-state'), say('doctorLooking'));
  try {
    const answer = await fetch('/api/doctor');
    if (!answer.ok) throw new Error(say('answered', { status: answer.status }));
    show(await answer.json());
  } catch (error) {
    setText(byId('doctor-state'), say('doctorFailed', { reason: error.message }));
  } finally {
    button.disabled = false;
  }
}

function show({ findings, good }) {
  setText(byId('doctor-state'), say('doctorGood', { good: good.length, found: findings.length }));
  byId('doctor-list').replaceChildren(
    ...findings.map(({ id, title, verdict, reason, remedy = '' }) =>
      el(
        'li',
        {},
        el(
          'strong',
          { class: CLASSES[verdict] },
          `${told(title, { id: 'checkTitle', values: { check: id, title } })}: ${WORDS[verdict] ?? verdict}. `,
        ),
        el('span', { lang: agentLanguage }, reason),
        ' ',
        el('span', { class: 'quiet', lang: agentLanguage }, remedy),
      ),
    ),
  );
}
