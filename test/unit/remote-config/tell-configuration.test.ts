/** Words of what a change of the configuration has become: each says which way it came, in alert and timeline alike. */
import { expect, it } from 'vitest';
import { AlertList } from '../../../src/host/alert-list.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { ConfigurationState } from '../../../src/remote-config/remote-config.ts';
import { tellConfiguration } from '../../../src/remote-config/tell-configuration.ts';
import type { ToldEvent } from '../../../src/timeline/event.ts';

function toldOf(state: Partial<ConfigurationState>): { readonly alerts: readonly string[]; readonly event: ToldEvent } {
  const alerts = new AlertList(silentLog);
  const events: ToldEvent[] = [];
  const whole = { state: 'refused', hash: 'ab'.repeat(32), atMs: 1, origin: 'page', ...state } as const;
  tellConfiguration(whole, { alerts, timeline: { tell: (event) => void events.push(event) } });
  return { alerts: alerts.list(), event: events[0] as ToldEvent };
}

it.each([
  ['page', 'from the page'],
  ['patch', 'from the platform'],
  ['local', 'handed over on the command line'],
] as const)('a change by %s is one %s', (origin, from) => {
  const words = `The configuration abababababab ${from} was refused: no.`;
  expect(toldOf({ origin, reason: 'no' })).toMatchObject({
    alerts: [words],
    event: { kind: 'config', by: origin, value: 'refused', words, sentence: { id: 'changeRefused' } },
  });
});

it('a package has its title and version, and a patch that made no file no hash', () => {
  const name = { title: 'hall', version: '3' };
  expect(toldOf({ state: 'returned', origin: 'package', package: name }).event.words).toBe(
    'The configuration abababababab from the platform, in the package hall 3, did not work, and the one before is in force again.',
  );
  expect(toldOf({ hash: '', reason: 'no' }).event.words).toBe(
    'A change of the configuration from the page was refused: no.',
  );
});

it('one that is kept ends the alert', () => {
  expect(toldOf({ state: 'kept' })).toMatchObject({ alerts: [], event: { value: 'kept' } });
});
