/** Lies: the agent works as it should, and says of itself what is not so. */
import type { PlantedFault } from './fault.ts';

export const WORDS_FAULTS: readonly PlantedFault[] = [
  {
    name: 'a fault of the contact is never told',
    file: 'platform/contact.ts',
    old: '    if (this.#fault === undefined) return false;',
    new: '    if (this.#fault !== undefined || this.#lastHeardAtMs !== undefined) return false;',
    needs: ['no network'],
  },
  {
    name: 'a login page counts as the platform',
    file: 'platform/contact-faults.ts',
    old: "      return told(isToHttps(location, place) ? 'https-wanted' : 'portal', place, detail);",
    new: '      return undefined;',
    needs: ['portal'],
  },
  {
    name: 'all is called up to date while uploads are held back',
    file: 'status/platform-status.ts',
    old: "  if (connection.state === 'backing-off')",
    new: "  if (connection.state === 'backing-off') return { verdict: 'good', words: 'up to date' };\n  if (connection.state === 'sending' && kept !== '')",
    needs: ['server errors'],
  },
  {
    name: 'an answer that comes back does not end the fault',
    file: 'platform/contact.ts',
    old: '    this.#logged.clear();\n    this.#fault = undefined;',
    new: '    this.#logged.clear();',
    needs: ['no network'],
  },
  {
    name: 'a sensor that speaks by itself works again as soon as its port is open',
    file: 'sensors/sampled-sensor.ts',
    old: '      if (this.#driver.speaksByItself) {',
    new: '      if (this.#driver.speaksByItself) {\n        this.#worked([]);',
    needs: ['part', 'station'],
  },
  {
    name: 'a sensor that fails is said to work',
    file: 'sensors/sampled-sensor.ts',
    old: "state: error !== undefined ? 'failing' : this.#reads > 0",
    new: 'state: this.#reads > 0',
    needs: ['chip|part'],
  },
  {
    name: 'nothing waits, as long as it is not in a segment that is full',
    file: 'outbox/outbox-status.ts',
    old: '    heldEntries: onDisk + commit.waitingEntries,',
    new: '    heldEntries: commit.waitingEntries,',
    needs: ['no network'],
  },
];
