import { createHash, type KeyObject } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { Gateway, type GatewayOptions } from '../support/gateway.ts';
import { makeImage, makeKeys, type ReleaseImage, type TamperedParts } from '../support/release-image.ts';

let gateway: Gateway | undefined;
afterEach(async () => {
  await gateway?.remove();
});

async function gatewayWith(options: Partial<GatewayOptions> = {}): Promise<Gateway> {
  gateway = await Gateway.make(({ privateKey }) => ({
    image: makeImage({ release: '2.0.0', key: privateKey }),
    version: '2.0.0',
    ...options,
  }));
  return gateway;
}

function statesOf(one: Gateway): unknown[] {
  const states = one.reported.map((values) => values.fw_state).filter((state) => state !== undefined);
  return states.filter((state, index) => state !== states[index - 1]);
}

describe('an update over the platform', () => {
  it('goes through every state and is confirmed after an upload and a time of health', async () => {
    const one = await gatewayWith();
    expect(await one.live()).toMatchObject({ ended: true });
    expect(statesOf(one)).toEqual(['DOWNLOADING', 'DOWNLOADED', 'VERIFIED', 'UPDATING', 'UPDATED']);
    expect(await one.current()).toBe('2.0.0');
    expect(await one.currentIsWhole()).toBe(true);
    expect(one.starts).toEqual(['1.0.0', '2.0.0']);
    expect(one.reported.at(-1)).toMatchObject({ current_fw_title: 'turnstone', current_fw_version: '2.0.0' });
  });
});

describe('a bad bundle', () => {
  const stranger = makeKeys().privateKey;
  const big = Buffer.alloc(3_000_000);
  const cases: Readonly<Record<string, (key: KeyObject) => Partial<GatewayOptions> & { readonly because: RegExp }>> = {
    'truncated, and announced as it is': (key) => {
      const { bytes, files } = makeImage({ release: '2.0.0', key });
      return { image: imageOf(bytes.subarray(0, bytes.length - 200), files), because: /not signed/ };
    },
    'truncated on the way': (key) => {
      const image = makeImage({ release: '2.0.0', key });
      return {
        image: { ...image, bytes: image.bytes.subarray(0, -1) },
        sizeBytes: image.bytes.length,
        because: /missing|size/,
      };
    },
    'with one bit flipped on the way': (key) => {
      const image = makeImage({ release: '2.0.0', key });
      const bytes = Buffer.from(image.bytes);
      bytes.writeUInt8(bytes.readUInt8(100) ^ 4, 100);
      return { image: { ...image, bytes }, because: /checksum/ };
    },
    'with one bit flipped before its checksum was made': (key) => {
      const { bytes, files } = makeImage({ release: '2.0.0', key });
      bytes.writeUInt8(bytes.readUInt8(100) ^ 4, 100);
      return { image: imageOf(bytes, files), because: /signature does not fit/ };
    },
    'signed by a stranger': () => ({ image: makeImage({ release: '2.0.0', key: stranger }), because: /not trusted/ }),
    'not signed': () => ({ image: makeImage({ release: '2.0.0' }), because: /not signed/ }),
    'for another machine': (key) => ({
      image: makeImage({ release: '2.0.0', arch: 'mips', key }),
      because: /for mips/,
    }),
    'of another version': (key) => ({ image: makeImage({ release: '2.0.1', key }), because: /holds release 2\.0\.1/ }),
    'with a path that leads out': (key) => {
      const tamper = (parts: TamperedParts): void => {
        for (const file of parts.manifest.files as { path: string }[])
          if (file.path === 'node') file.path = '../../../../etc/cron.d/node';
      };
      return { image: makeImage({ release: '2.0.0', key, tamper }), because: /path .* is refused/ };
    },
    'with more in it than its manifest says': (key) => {
      const tamper = (parts: TamperedParts): void => {
        for (const entry of parts.entries) if (entry.path === 'node') entry.content = big;
      };
      return { image: makeImage({ release: '2.0.0', key, tamper }), because: /found something else/ };
    },
    'that claims more than any release has': (key) => {
      const tamper = (parts: TamperedParts): void => {
        for (const file of parts.manifest.files as { bytes: number }[]) file.bytes = 2 ** 30;
      };
      return { image: makeImage({ release: '2.0.0', key, tamper }), because: /bytes unpacked/ };
    },
    'that cannot read the state': (key) => ({
      image: makeImage({ release: '2.0.0', stateFormats: { outbox: [2] }, key }),
      because: /read the state: outbox 1/,
    }),
    'whose self-test complains': () => ({
      manners: { '2.0.0': { selfTest: 'the native modules do not load' } },
      because: /do not load/,
    }),
    'that ends at once': () => ({ manners: { '2.0.0': { exitsWith: 1 } }, because: /not confirmed in 3 starts/ }),
    'that hangs at its start': () => ({
      manners: { '2.0.0': { hangsAtStart: true } },
      because: /not confirmed in 3 starts/,
    }),
    'that refuses the configuration': () => ({
      manners: { '2.0.0': { exitsWith: 78 } },
      because: /refuses this configuration/,
    }),
    'that never uploads': () => ({
      manners: { '2.0.0': { neverUploads: true } },
      because: /no upload was acknowledged within 60 minutes/,
    }),
    'that is not well': () => ({
      manners: { '2.0.0': { fault: 'no sensor can be read' } },
      because: /no sensor can be read/,
    }),
  };

  it.each(Object.keys(cases))('%s leaves the gateway with the release it had', async (name) => {
    let because = /./;
    gateway = await Gateway.make((keys) => {
      const { because: reason, ...options } = cases[name]?.(keys.privateKey) ?? { because: /never/ };
      because = reason;
      return { image: makeImage({ release: '2.0.0', key: keys.privateKey }), version: '2.0.0', ...options };
    });
    expect(await gateway.live()).toMatchObject({ ended: true });
    expect(await gateway.current()).toBe('1.0.0');
    expect(await gateway.currentIsWhole()).toBe(true);
    const told = gateway.reported.find((values) => values.fw_state === 'FAILED');
    expect(told?.fw_error).toMatch(because);
    expect(gateway.uploads.at(-1)).toMatch(/^1\.0\.0/);

    const served = gateway.chunksServed;
    expect(await gateway.live()).toMatchObject({ ended: true });
    expect(gateway.chunksServed, 'the same offer is not tried again').toBe(served);
    expect((await readdir(gateway.paths.firmware)).sort(), 'nothing is left behind').toEqual([
      'firmware-update.json',
      ...leftOver(gateway),
    ]);
  });
});

describe('a good release behind a link that is down', () => {
  it('is held until the link returns, and confirmed then', async () => {
    const one = await gatewayWith({ linkIsDownForHours: 20 });
    await one.live();
    expect(statesOf(one).at(-1)).toBe('UPDATED');
    expect(await one.current()).toBe('2.0.0');
  });

  it('is given up only after a day', async () => {
    const one = await gatewayWith({ linkIsDownForHours: 100 });
    await one.live();
    expect(one.reported.find((values) => values.fw_state === 'FAILED')?.fw_error).toMatch(
      /out of reach for 1440 minutes/,
    );
    expect(one.clock.monotonicMs()).toBeGreaterThan(24 * 3_600_000);
    expect(await one.current()).toBe('1.0.0');
  });
});

function imageOf(bytes: Buffer, files: ReleaseImage['files']): ReleaseImage {
  return { bytes, files, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** Returns files that the root helper renamed away, which stay until the next request. */
function leftOver(one: Gateway): string[] {
  return one.helperWasAsked ? ['request.taken'] : [];
}
