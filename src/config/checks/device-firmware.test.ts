/** Packages for attached devices in a configuration: what is wrong with one is told at its place. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { faultLine } from '../fields/config-fault.ts';
import { deviceHandlers, gatewayHandlers } from '../keys/device-firmware.ts';
import { readConfig } from '../read-config.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-device-firmware-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function read(device: string, { pump = '{device}', board = '{file}', firmware = '', further = '' } = {}) {
  const file = join(folder, 'turnstone.yaml');
  const text = `version: 1
platform: { url: "https://example.org", accessToken: gateway-token }
provisioning: { deviceKey: k, deviceSecret: s }
firmware:
  ${firmware}
  handlers:
    - { title: pump, program: /bin/true, arguments: ["${pump}", "{file}"] }
    - { title: pump, package: software, program: /bin/true }
    - { title: board, program: /bin/true, arguments: ["${board}"] }
devices: [{ name: m1, ${device} }]
${further}
sensors: [{ name: meter, device: m1, kind: host }]
`;
  await writeFile(file, text, { mode: 0o600 });
  const { config, faults, warnings } = await readConfig(file, { environment: {} });
  const lines = (all: typeof faults) => all.map((fault) => faultLine('f', fault).replace(/^f:\d+:\d+: /, ''));
  return { config, wrong: lines(faults), warned: lines(warnings) };
}

describe('handlers of attached devices', () => {
  it('are those with the titles that they name; the gateway has the others', async () => {
    const { config, wrong, warned } = await read('firmware: { handlers: [pump] }');
    expect({ wrong, warned }).toEqual({ wrong: [], warned: [] });
    if (config === undefined) throw new Error('it is good');
    const [device = {}] = config.devices;
    expect(deviceHandlers(device, config).map((one) => `${one.package} ${one.title}`)).toEqual([
      'firmware pump',
      'software pump',
    ]);
    expect(gatewayHandlers(config).map(({ title }) => title)).toEqual(['board']);
    expect(gatewayHandlers({ ...config, devices: [] })).toHaveLength(3);
    expect(deviceHandlers({}, config)).toEqual([]);
  });

  it.each([
    ['firmware: { handlers: [pumb] }', /devices\[0\]\.firmware\.handlers\[0\].*no handler has the title.*pump/],
    ['firmware: { handlers: [pump, pump] }', /devices\[0\]\.firmware\.handlers\[1\].*named twice/],
  ])('are told to be wrong: %s', async (device, fault) => {
    const { wrong } = await read(device);
    expect(wrong).toEqual([expect.stringMatching(fault)]);
  });

  it('are named where there is a list', async () => {
    const { wrong } = await read('firmware: { handlers: [] }', { pump: '{file}' });
    expect(wrong).toEqual([expect.stringMatching(/devices\[0\]\.firmware\.handlers.*no handler is named/)]);
  });

  it('that are switched off are a warning', async () => {
    const { wrong, warned } = await read('firmware: { handlers: [pump] }', { firmware: 'enabled: false' });
    expect({ wrong, warned }).toEqual({
      wrong: [],
      warned: [expect.stringMatching(/devices\[0\].firmware.*firmware\.enabled is false/)],
    });
  });

  it('of the gateway never have the packages that the agent itself takes as configurations', async () => {
    const title = 'remoteConfiguration: { enabled: true, title: pump }';
    expect((await read('firmware: { handlers: [pump] }', { further: title })).wrong).toEqual([]);
    expect((await read('label: Pump', { further: title, pump: '{file}' })).wrong).toEqual([
      expect.stringMatching(/handlers\[1\]\.title.*configurations from afar.*another remoteConfiguration\.title/),
    ]);
    const off = title.replace('true', 'false');
    expect((await read('label: Pump', { further: off, pump: '{file}' })).wrong).toEqual([]);
  });

  it('have {device} in their arguments, and those of the gateway have not', async () => {
    expect((await read('label: Pump')).wrong).toEqual([expect.stringMatching(/handlers\[0\]\.arguments\[0\]/)]);
    expect((await read('firmware: { handlers: [pump] }', { board: '{device}' })).wrong).toEqual([
      expect.stringMatching(/handlers\[2\]\.arguments\[0\]/),
    ]);
  });
});
