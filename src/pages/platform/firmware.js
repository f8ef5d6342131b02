/** Firmware: what the device says of its update, which package it is to have, and new packages. */
import { byId, el, keepFacts, setText } from '../shared/dom.js';
import { bytes } from '../shared/words.js';
import { assignFirmware, packages, uploadPackage } from './rest.js';

const FACTS = {
  current_fw_title: 'Title',
  current_fw_version: 'Runs',
  fw_state: 'State',
  target_fw_version: 'Target',
  fw_error: 'Fault',
};

export function prepareFirmware(currentDevice, attempt) {
  byId('assign-form').addEventListener('submit', (event) => {
    event.preventDefault();
    void attempt(async () => {
      await assignFirmware(currentDevice(), byId('package').value);
      setText(byId('firmware-state'), 'Assigned; the device is told.');
    });
  });
  byId('package-form').addEventListener('submit', (event) => {
    event.preventDefault();
    void attempt(async () => {
      setText(byId('firmware-state'), 'Uploading …');
      const made = await uploadPackage({
        title: byId('package-title').value,
        version: byId('package-version').value,
        file: byId('package-file').files[0],
      });
      setText(byId('firmware-state'), `${made.title} ${made.version} is here.`);
      event.target.reset();
      await refreshPackages(currentDevice());
    });
  });
}

export async function refreshPackages(device) {
  const all = (await packages()).filter(({ type }) => type === 'FIRMWARE');
  const assigned = device.firmwareId?.id ?? '';
  byId('package').replaceChildren(
    el('option', { value: '' }, 'none'),
    ...all.map(({ id, title, version, dataSize }) =>
      el(
        'option',
        { value: id.id, selected: id.id === assigned },
        `${title} ${version}${dataSize === undefined || dataSize === null ? '' : `, ${bytes(Number(dataSize))}`}`,
      ),
    ),
  );
}

export function renderFirmware(latest) {
  const facts = Object.entries(FACTS).map(([key, name]) => [name, latest[key]?.[0]?.value]);
  const known = facts.filter(([, value]) => value !== undefined && value !== null && value !== '');
  keepFacts(
    byId('firmware'),
    known.length === 0 ? [['State', 'The device has not said.']] : known.map(([name, value]) => [name, String(value)]),
  );
}
