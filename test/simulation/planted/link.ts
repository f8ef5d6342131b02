/** Faults of the link: how often, how loudly and with what the agent asks. */
import type { PlantedFault } from './fault.ts';

export const LINK_FAULTS: readonly PlantedFault[] = [
  {
    name: 'a poll that brings nothing is asked again at once',
    file: 'platform/long-poll.ts',
    old: '          deps.place?.leave();\n          await clock.sleep(idling.nextMs(), signal);',
    new: '          deps.place?.leave();',
    needs: ['lost polls'],
  },
  {
    name: 'a token that was refused once is said to be refused for good',
    file: 'platform/contact.ts',
    old: '    this.#logged.clear();\n    this.#fault = undefined;',
    new: "    this.#logged.clear();\n    if (this.#fault?.what.reason !== 'token-refused') this.#fault = undefined;",
    needs: ['token refused'],
  },
  {
    name: 'each line of the log is told, however often the same comes',
    file: 'host/summed-log.ts',
    old: 'if (paidAtMs - nowMs > MAX_AT_ONCE * ONE_EVERY_MS) {',
    new: 'if (paidAtMs < nowMs) {',
    needs: ['read-only disk|hanging sync', 'stop'],
  },
  {
    name: 'the log shows what it was told to hide',
    file: 'host/log.ts',
    old: 'const shown = this.redact(line);',
    new: 'const shown = line;',
    needs: ['slip'],
  },
  {
    name: 'only short secrets are hidden',
    file: 'host/log.ts',
    old: 'if (secret.length < MIN_SECRET_LENGTH || this.#secrets.has(secret)) return;',
    new: 'if (secret.length >= MIN_SECRET_LENGTH || this.#secrets.has(secret)) return;',
    needs: ['slip'],
  },
  {
    name: 'back-off does not grow',
    file: 'host/backoff.ts',
    old: 'firstMs * 2 ** Math.min(this.#attempts, 30)',
    new: 'firstMs / 10',
    needs: ['no network|server errors|hostile answers'],
  },
];
