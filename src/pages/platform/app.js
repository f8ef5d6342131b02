/** Joins the platform's page: log-in, the list of devices, and one device at a time with everything that can be seen of it and told to it. */
import { byId, el, keepFacts, keepList, setText } from '../shared/dom.js';
import { preparePlot } from '../shared/plot.js';
import { instant } from '../shared/words.js';
import { prepareAttributes, refreshAttributes } from './attributes.js';
import { prepareFirmware, refreshPackages, renderFirmware } from './firmware.js';
import { findOutputs, followOutputs, renderOutputs } from './outputs.js';
import { prepareReports } from './reports.js';
import * as rest from './rest.js';
import { clearAnswers, prepareRpc } from './rpc.js';
import { forgetTelemetry, renderTelemetry } from './telemetry.js';

const LATEST_EVERY_MS = 1_000;
/** Devices, attributes and owners change seldom. */
const REST_EVERY = 4;

let device;
let isTenant = false;
let round = 0;
const currentId = () => device?.id.id;
/** Text in place of a customer where there is none. */
const NOBODY = '13814000-1dd2-11b2-8080-808080808080';
const hasOwner = ({ customerId }) => customerId !== null && customerId.id !== NOBODY;
const currentDevice = () => device;

preparePlot();
prepareRpc(currentId);
prepareAttributes(currentId, attempt);
prepareFirmware(currentDevice, attempt);
listen('log-in-form', async () => {
  await rest.logIn(byId('username').value, byId('password').value);
  byId('password').value = '';
  await enter();
});
listen('claim-form', async () => {
  const refusals = {
    CLAIMED: 'The device has an owner already.',
    FAILURE:
      'Not claimed: the secret is wrong, or the device is not open for claiming. Whatever was open is shut now: let it claim again.',
  };
  try {
    await rest.claim(byId('claim-name').value, byId('claim-secret').value);
    setText(byId('claim-answer'), 'The device is yours.');
  } catch (error) {
    if (refusals[error.message] === undefined) throw error;
    setText(byId('claim-answer'), refusals[error.message]);
  }
});
listen('device-form', async (form) => {
  const made = await rest.makeDevice(byId('device-name').value);
  form.reset();
  await refreshDevices();
  await show(made);
});
byId('release').addEventListener('click', () => void attempt(() => rest.release(device.name).then(refreshDevices)));
byId('log-out').addEventListener('click', leave);
void attempt(enter);

async function enter() {
  byId('log-in').hidden = rest.hasToken();
  if (!rest.hasToken()) return;
  const { name, authority } = await rest.user();
  isTenant = authority === 'TENANT_ADMIN';
  setText(byId('who'), name);
  byId('log-out').hidden = false;
  byId('claiming').hidden = isTenant;
  byId('content').hidden = !isTenant;
  if (!isTenant) return;
  const all = await refreshDevices();
  await prepareReports((await rest.settings()).analyticsPath, currentDevice, attempt);
  if (all[0] !== undefined) await show(all[0]);
  void follow();
}

function leave() {
  rest.logOut();
  location.reload();
}

/** Shows what changes, as long as the page is open and somebody looks. */
async function follow() {
  while (rest.hasToken()) {
    await new Promise((resolve) => setTimeout(resolve, LATEST_EVERY_MS));
    if (document.visibilityState === 'hidden') continue;
    await attempt(refresh, true);
  }
}

async function refresh() {
  round += 1;
  if (round % REST_EVERY === 0) {
    const all = await refreshDevices();
    if (device === undefined && all[0] !== undefined) await show(all[0]);
  }
  const id = currentId();
  if (id === undefined) return;
  const latest = await rest.latest(id);
  if (id !== currentId()) return;
  renderTelemetry(id, latest);
  renderFirmware(latest);
  const newest = Math.max(...Object.values(latest).map(([{ ts }]) => ts));
  keepFacts(byId('facts'), [
    ['Access token', device.accessToken],
    ['Owner', hasOwner(device) ? device.customerId.id : 'nobody yet'],
    ['Last telemetry', Number.isFinite(newest) && newest > 0 ? instant(newest) : 'none yet'],
  ]);
  byId('release').hidden = !hasOwner(device);
  if (round % REST_EVERY === 1) followOutputs(await refreshAttributes(currentId, attempt));
}

async function refreshDevices() {
  const all = await rest.devices();
  const fresh = all.find(({ id }) => id.id === currentId());
  if (fresh !== undefined) device = { ...fresh, accessToken: device.accessToken };
  keepList(byId('devices'), all, {
    keyOf: ({ id }) => id.id,
    make: (one) =>
      el('li', {}, el('button', { type: 'button', onclick: () => void attempt(() => show(one)) }, one.name)),
    update: (item, { id }) => item.firstElementChild.setAttribute('aria-current', String(id.id === currentId())),
  });
  return all;
}

async function show(one) {
  device = { ...one, accessToken: await rest.credentials(one.id.id) };
  round = 0;
  byId('device').hidden = false;
  setText(byId('device-title'), one.name);
  forgetTelemetry();
  await Promise.all([refreshDevices(), refreshPackages(one), refresh()]);
  clearAnswers();
  const outputs = await findOutputs(one.id.id);
  if (currentId() === one.id.id) renderOutputs(one.id.id, outputs);
}

function listen(id, action) {
  byId(id).addEventListener('submit', (event) => {
    event.preventDefault();
    void attempt(() => action(event.target));
  });
}

/** Runs what may fail, and says so; a session that has ended leads back to the log-in. */
async function attempt(action, isRepeated = false) {
  try {
    const result = await action();
    if (!isRepeated || byId('fault').dataset.repeated === 'true') setText(byId('fault'), '');
    return result;
  } catch (error) {
    if (error instanceof rest.Refused && error.status === 401 && rest.hasToken()) {
      rest.logOut();
      byId('content').hidden = byId('claiming').hidden = byId('log-out').hidden = true;
      byId('log-in').hidden = false;
    }
    byId('fault').dataset.repeated = String(isRepeated);
    setText(
      byId('fault'),
      error instanceof rest.Refused ? error.message : 'The platform is not reached; trying again.',
    );
    return undefined;
  }
}
