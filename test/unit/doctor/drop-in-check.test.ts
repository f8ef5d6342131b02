/** Kinds that need an open sandbox: the doctor names the drop-in that is missing. */
import { expect, it } from 'vitest';
import type { CheckContext, Finding } from '../../../src/doctor/checks/checkup.ts';
import { dropIns } from '../../../src/doctor/checks/drop-in-check.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';

const { signal } = new AbortController();
const FOLDER = '/etc/systemd/system/turnstone.service.d';
const BUFFERED = 'sensors: [{ name: air, kind: iio, chip: dummy, buffer: {} }]';
const DIMMED = 'actuators: [{ name: lamp, kind: pwm, channel: 0 }]';

async function looked(
  yaml: string,
  { there = [], load = 'loaded', agent }: { there?: readonly string[]; load?: string; agent?: unknown } = {},
): Promise<Finding | undefined> {
  const config = await configOf(`${SMALLEST}${yaml}\n`);
  const machine = { unit: async () => ({ load, dropIns: there.map((name) => `${FOLDER}/${name}`) }) };
  return await dropIns.look({ read: { config }, machine, agent } as unknown as CheckContext, signal);
}

it('names the drop-ins of a buffer and of PWM, and how each installation gets them', async () => {
  const finding = await looked(`${BUFFERED}\n${DIMMED}`);
  expect(finding?.verdict).toBe('fault');
  expect(finding?.reason).toBe('air (iio) needs the drop-in turnstone-iio.conf, which is not there');
  expect(finding?.remedy).toContain('install.sh --with iio,sysfs;');
  expect(finding?.remedy).toContain(
    `-t ${FOLDER} /usr/share/turnstone/turnstone-iio.conf /usr/share/turnstone/sysfs-gpio-pwm.conf,`,
  );
});

it('is content with the drop-in, or with what works without it', async () => {
  expect(await looked(BUFFERED, { there: ['turnstone-iio.conf'] })).toEqual({ verdict: 'good', reason: 'iio' });
  const agent = { sensors: [{ name: 'air', state: 'ok' }], actuators: [] };
  expect((await looked(BUFFERED, { agent }))?.verdict).toBe('good');
  expect(
    (await looked(BUFFERED, { agent: { sensors: [{ name: 'air', state: 'failing' }], actuators: [] } }))?.verdict,
  ).toBe('fault');
});

it('asks for none where single values are read, nothing is on, the board is simulated or no service is installed', async () => {
  expect(await looked('sensors: [{ name: air, kind: iio, chip: dummy }]')).toBeUndefined();
  expect(await looked('sensors: [{ name: air, kind: iio, chip: dummy, buffer: {}, enabled: false }]')).toBeUndefined();
  expect(await looked(`hardware: { board: simulated, boardSocket: /run/board }\n${BUFFERED}`)).toBeUndefined();
  expect(await looked(BUFFERED, { load: 'not-found' })).toBeUndefined();
});

it('asks for the one of GPIO by sysfs', async () => {
  const door = 'sensors: [{ name: door, kind: gpio-input, line: GPIO17 }]';
  expect(await looked(door)).toBeUndefined();
  expect((await looked(`hardware: { gpio: sysfs }\n${door}`))?.reason).toContain('sysfs-gpio-pwm.conf');
});
