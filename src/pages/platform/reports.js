/** Reports: a saved view, run over a span, as a table. */
import { byId, el, setText } from '../shared/dom.js';
import { counted, instant, plain } from '../shared/words.js';
import { report, views } from './rest.js';

const MAX_ROWS = 500;

export async function prepareReports(path, currentDevice, attempt) {
  const all = await views(path);
  byId('report-view').replaceChildren(...all.map(({ id, name }) => el('option', { value: id }, name)));
  byId('report-form').addEventListener('submit', (event) => {
    event.preventDefault();
    void attempt(() => run(path, all, currentDevice().name));
  });
}

async function run(path, all, deviceName) {
  const hours = Number(byId('report-span').value);
  const view = all.find(({ id }) => id === byId('report-view').value);
  setText(byId('report-state'), 'Running …');
  const { columnLabels, dataTable } = await report(path, {
    viewConfigId: view.id,
    ...(hours === 0 ? {} : { rangeStartTs: Math.round(Date.now() - hours * 3_600_000), rangeEndTs: Date.now() }),
    filters: { device: [deviceName] },
  }).catch((error) => {
    setText(byId('report-state'), '');
    throw error;
  });
  const times = view.fields.filter(({ source }) => source === 'time').map(({ label }) => label);
  const cell = (label, value) => (times.includes(label) ? instant(Number(value)) : plain(value));
  setText(
    byId('report-state'),
    `${counted(dataTable.length, 'row')}${dataTable.length > MAX_ROWS ? `, the last ${MAX_ROWS} are shown` : ''}.`,
  );
  byId('report').replaceChildren(
    el(
      'table',
      {},
      el('thead', {}, el('tr', {}, ...columnLabels.map((label) => el('th', { scope: 'col' }, label)))),
      el(
        'tbody',
        {},
        ...dataTable
          .slice(-MAX_ROWS)
          .map((row) => el('tr', {}, ...columnLabels.map((label) => el('td', {}, cell(label, row[label]))))),
      ),
    ),
  );
}
