/** The bundle holds only the parts of undici that are used: too few, and every call fails. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bundleFile } from '../../../scripts/bundle.ts';
import { LocalPlatform } from '../../../src/stand-ins/local-platform/local-platform.ts';

const source = fileURLToPath(new URL('../../../src', import.meta.url));
let folder: string;
let platform: LocalPlatform;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-bundle-'));
  platform = await LocalPlatform.start();
});
afterEach(async () => {
  await platform.close();
  await rm(folder, { recursive: true, force: true });
});

it('the client works when it is bundled', async () => {
  const { id, accessToken } = platform.ensureDevice('gw');
  const entry = join(folder, 'entry.ts');
  await writeFile(
    entry,
    `import { HttpDeviceApi } from '${source}/platform/http-device-api.ts';
     import { systemClock } from '${source}/host/clock.ts';
     const [url, token] = process.argv.slice(2);
     const api = new HttpDeviceApi({ settings: { url }, token: () => token, clock: systemClock });
     const { signal } = new AbortController();
     console.log(JSON.stringify([await api.postTelemetry({ keys: ['a'], values: [1], ts: [5] }, signal), await api.getAttributes({}, signal)]));
     await api.close();`,
  );
  const bundle = join(folder, 'main.mjs');
  await bundleFile(entry, bundle, '0.0.0');
  const { stdout } = await promisify(execFile)(process.execPath, [bundle, platform.url, accessToken]);
  expect(JSON.parse(stdout)).toEqual([{ kind: 'accepted' }, { client: {}, shared: {}, empty: true }]);
  expect(platform.state.telemetry.series(id, 'a').latest()).toEqual({ ts: 5, value: 1 });
});
