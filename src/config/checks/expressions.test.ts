/** Expressions of derived sensors where several devices have the same keys: whose value each takes. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { faultLine } from '../fields/config-fault.ts';
import { readConfig } from '../read-config.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-expressions-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function read(text: string) {
  const file = join(folder, 'turnstone.yaml');
  await writeFile(file, text, { mode: 0o600 });
  const { faults, warnings } = await readConfig(file, { environment: {} });
  const lines = (all: typeof faults) => all.map((fault) => faultLine('f', fault).replace(/^f:\d+:\d+: /, ''));
  return { wrong: lines(faults), warned: lines(warnings) };
}

const good = async (text: string) => expect(await read(text)).toEqual({ wrong: [], warned: [] });

const METER = 'kind: modbus, connection: { transport: tcp, host: meters.local }, registers: { power: { address: 0 } }';
const TWO_METERS = `version: 1
platform: { url: "https://example.org", accessToken: gateway-token }
provisioning: { deviceKey: k, deviceSecret: s }
devices:
  - { name: m1 }
  - { name: m2 }
sensors:
  - { name: meter1, device: m1, unitId: 1, ${METER} }
  - { name: meter2, device: m2, unitId: 2, ${METER} }
`;

describe('a key that several devices have', () => {
  const withDerived = (values: string, device = '') =>
    `${TWO_METERS}  - { name: made, kind: derived${device}, values: { ${values} } }\n`;

  it('is a key for an expression of one of them, and for no other', async () => {
    const { wrong } = await read(withDerived('total: 2 * power'));
    expect(wrong).toEqual([
      'sensors[2].values.total: power is a key of several devices: "2 * power", expected device: beside the expression, for its own device’s, ' +
        'or a prefix for one of the sensors',
    ]);
    await good(withDerived('total: 2 * power', ', device: m1'));
    await good(withDerived('total: 2 * power').replace('device: m2', 'device: m2, prefix: other'));
    await good(
      withDerived('total: 2 * power').replace('device: m2, unitId', 'unitId').replace('  - { name: m2 }\n', ''),
    );
  });

  it('may be made of the same keys in each, and in none of itself', async () => {
    const chain = (values: string) =>
      `${withDerived('kilo: power / 1000', ', device: m1')}  - { name: next, ${values} }\n`;
    await good(chain('kind: derived, device: m2, values: { kilo: power / 1000, mega: kilo / 1000 }'));
    const { wrong } = await read(chain('kind: derived, device: m2, values: { kilo: mega * 1000, mega: kilo / 1000 }'));
    expect(wrong).toEqual([expect.stringMatching(/^sensors\[3\]\.values\.kilo: made of itself/)]);
  });

  it('is only warned of where a sensor that gives any key may have it', async () => {
    const beside = '  - { name: any, kind: derived, device: m3, values: { x: 1 * power } }\n';
    const program = '  - { name: program, device: m3, kind: command, program: /bin/true, format: json }\n';
    const { wrong, warned } = await read(
      `${TWO_METERS}${program}${beside}`.replace('  - { name: m2 }', '$&\n  - { name: m3 }'),
    );
    expect(wrong).toEqual([]);
    expect(warned).toEqual([expect.stringMatching(/^sensors\[3\]\.values\.x: power is a key of several devices/)]);
  });
});
