/** Makes the platform client that the configuration describes. */
import { readFile } from 'node:fs/promises';
import type { PlatformConfig } from '../config/agent-config.ts';
import { AgentError, systemCode } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import { HttpDeviceApi } from '../platform/http-device-api.ts';
import { jsonCodec, type PayloadCodec } from '../platform/payload-codec.ts';

export interface OpenDeviceApiDeps {
  readonly platform: PlatformConfig;
  /** Asked at every call: tokens rotate. */
  readonly token: () => string;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Nothing is connected before the first call.
 * @throws AgentError `agent/unreadable-file` (stop) for a certificate that cannot be read, `platform/settings` (stop) for an unusable address.
 */
export async function openDeviceApi(deps: OpenDeviceApiDeps): Promise<HttpDeviceApi> {
  const { platform, token, clock } = deps;
  return new HttpDeviceApi({
    settings: { ...(await connectionSettings(platform)), requestTimeoutMs: platform.requestTimeoutMs },
    token,
    clock,
    codec: await payloadCodec(platform.codec),
  });
}

/** Address, certificates and proxy, with the files read; provisioning uses the same way out. */
export async function connectionSettings(platform: PlatformConfig): Promise<ConstructorParameters<typeof HttpDeviceApi>[0]['settings']> {
  const [ca, clientCertificate, clientKey] = await Promise.all(
    [platform.caFile, platform.clientCertificateFile, platform.clientKeyFile].map(async (path) => (path === undefined ? undefined : read(path))),
  );
  return {
    url: platform.url,
    connectTimeoutMs: platform.connectTimeoutMs,
    ...(ca === undefined ? {} : { ca }),
    ...(clientCertificate === undefined ? {} : { clientCertificate }),
    ...(clientKey === undefined ? {} : { clientKey }),
    ...(platform.proxy === undefined ? {} : { proxy: platform.proxy.reveal() }),
  };
}

/** CBOR's library is loaded only when it is chosen. */
async function payloadCodec(name: PlatformConfig['codec']): Promise<PayloadCodec> {
  return name === 'cbor' ? (await import('../platform/cbor-codec.ts')).cborCodec() : jsonCodec;
}

async function read(path: string): Promise<Buffer> {
  return readFile(path).catch((cause: unknown) => {
    throw new AgentError('agent/unreadable-file', `cannot read ${path}: ${systemCode(cause)}`, { recovery: 'stop', cause });
  });
}
