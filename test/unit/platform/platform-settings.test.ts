/** Settings of the configuration's section hold for everything that comes from the platform. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { configSchema } from '../../../src/config/schema/agent-config.ts';
import { systemClock as clock } from '../../../src/host/clock.ts';
import { makeCertificate } from '../../../src/host/self-signed-certificate.ts';
import { openExternalFile } from '../../../src/platform/external-file.ts';
import { externalFileSettings } from '../../../src/platform/platform-settings.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

it('a file on a server of the site’s own authority is fetched, by the authority that is given for the platform', async () => {
  const atMs = Date.now();
  const own = makeCertificate({ names: ['127.0.0.1'], fromMs: atMs - 86_400_000, untilMs: atMs + 86_400_000 });
  const server = createServer(own, (_request, response) => response.end('a release'));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const files = new MemoryFiles();
  files.put('/ca.pem', own.cert);
  const { platform } = configSchema.parse({
    version: 1,
    platform: { url, accessToken: 'fixture-token', caFile: '/ca.pem' },
  });
  const signal = new AbortController().signal;
  const { stream } = await openExternalFile(url, { clock, ...(await externalFileSettings(platform, files)) }, signal);
  const pieces: Uint8Array[] = [];
  for await (const piece of stream) pieces.push(piece);
  expect(Buffer.concat(pieces).toString()).toBe('a release');
});
