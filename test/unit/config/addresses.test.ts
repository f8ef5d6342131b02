/** Addresses, tokens and passwords: what could never be used is refused, and never shown. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/config/read-config.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-addresses-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** JSON is YAML, and writes every character so that it arrives. */
async function faultsWith(sections: Readonly<Record<string, Readonly<Record<string, unknown>>>>) {
  const file = join(folder, 'turnstone.yaml');
  const { platform, ...others } = sections;
  const whole = {
    version: 1,
    platform: { url: 'https://example.org', accessToken: 'fixture', ...platform },
    ...others,
  };
  await writeFile(file, JSON.stringify(whole), { mode: 0o600 });
  const { faults, warnings } = await readConfig(file, { environment: {} });
  return { faults, said: JSON.stringify([faults, warnings]) };
}

describe('an address', () => {
  it.each(['http://10.0.0.7:8080', 'https://iot.example.org/prefix', 'HTTPS://[::1]:8443', 'https://example.org/a@b'])(
    'may be %s',
    async (url) => {
      expect((await faultsWith({ platform: { url } })).faults).toEqual([]);
    },
  );

  it.each([
    'http://bob:hunter2@example.org',
    'https://bob@example.org',
    'https://:hunter2@example.org/',
    'https:bob:hunter2@example.org',
    'https:/bob:hunter2@example.org',
    'https:\\\\bob:hunter2@example.org',
    'http://bob:hun/hunter2@example.org',
    'https://bob:a@hunter2@example.org',
    'https://example.org/?key=hunter2',
    'https://example.org/#hunter2',
    'https://exa mple.org',
    'https://example.org:99999',
    'ftp://example.org',
    'example.org',
  ])('may not be %s, of which no secret is shown', async (url) => {
    for (const sections of [
      { platform: { url } },
      { analytics: { url } },
      { analytics: { url: 'https://example.org', authUrl: url } },
    ] as Parameters<typeof faultsWith>[0][]) {
      const { faults, said } = await faultsWith(sections);
      expect(faults.map(({ path }) => path)).toEqual([expect.stringMatching(/url$/i)]);
      expect(faults[0]).toMatchObject({
        line: 1,
        column: expect.any(Number),
        expected: expect.stringContaining('without user'),
      });
      expect(said).not.toMatch(/hunter2|bob/);
    }
  });
});

describe('the address of a proxy', () => {
  it.each(['http://proxy:3128', 'https://user:pass@proxy.example.org', 'http://us%40er:100%25@10.0.0.1:8080/'])(
    'may be %s',
    async (proxy) => {
      expect((await faultsWith({ platform: { proxy } })).faults).toEqual([]);
    },
  );

  it.each([
    'ftp://proxy:3128',
    'socks5://proxy',
    'proxy:3128',
    'http://',
    'http:proxy',
    'http://user:100%@proxy',
    'http://proxy:99999',
    '',
  ])('may not be "%s"', async (proxy) => {
    const { faults } = await faultsWith({ platform: { proxy } });
    expect(faults).toEqual([
      expect.objectContaining({
        path: 'platform.proxy',
        value: '[secret]',
        expected: expect.stringContaining('http://'),
      }),
    ]);
  });
});

describe('a secret', () => {
  const PLACES = [
    'platform.accessToken',
    'provisioning.deviceKey',
    'provisioning.deviceSecret',
    'status.pin',
    'analytics.password',
  ];
  const sectionsWith = (place: string, key: string, value: string) => {
    const [section = '', field = ''] = place.split('.');
    const beside = {
      platform: { accessToken: undefined },
      provisioning: { deviceKey: 'key', deviceSecret: 'secret' },
      status: {},
      analytics: { url: 'https://example.org' },
    };
    const { [field]: _other, ...others } = beside[section as keyof typeof beside] as Record<string, unknown>;
    return {
      [section]: {
        ...others,
        ...(section === 'platform' ? { accessToken: undefined } : {}),
        [`${field}${key}`]: value,
      },
    };
  };

  it.each(PLACES)('in %s may be letters, digits and signs', async (place) => {
    expect((await faultsWith(sectionsWith(place, '', 'aZ09-_.~!$&+/='))).faults).toEqual([]);
  });

  describe.each(PLACES)('in %s', (place) => {
    it.each([' hunter2', 'hunter2 ', 'hunter2\n', 'hunter2\tx', 'hunter2\r', 'hunter2\0', ''])(
      'is not %j',
      async (value) => {
        const { faults, said } = await faultsWith(sectionsWith(place, '', value));
        expect(faults).toEqual([expect.objectContaining({ path: place, line: 1, column: expect.any(Number) })]);
        expect(said).not.toContain('hunter2');
      },
    );

    it('is not a file of several lines, which is told at the name of the file', async () => {
      const secret = join(folder, 'secret');
      await writeFile(secret, 'hunter2\n\nhunter2\n');
      const { faults, said } = await faultsWith(sectionsWith(place, 'File', secret));
      expect(faults).toEqual([expect.objectContaining({ path: place, line: 1, column: expect.any(Number) })]);
      expect(faults[0]?.column).toBeGreaterThan(20);
      expect(said).not.toContain('hunter2');
    });
  });

  it.each(['two words', 'schlüssel', '.', '..', 'x'.repeat(256)])(
    'that is the access token is not "%s"',
    async (accessToken) => {
      expect((await faultsWith({ platform: { accessToken } })).faults).toEqual([
        expect.objectContaining({ path: 'platform.accessToken', value: '[secret]' }),
      ]);
    },
  );
});
