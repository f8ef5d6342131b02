/** The configuration's platform section, with its files read, as the platform client and provisioning want it. */
import { readFile } from 'node:fs/promises';
import type { AgentConfig, PlatformConfig } from '../config/agent-config.ts';
import { AgentError, systemCode } from '../errors.ts';
import type { HttpDeviceApiDeps } from '../platform/http-device-api.ts';
import { jsonCodec, type PayloadCodec } from '../platform/payload-codec.ts';
import type { CredentialsSettings } from '../provisioning/obtain-credentials.ts';

export type ApiSettings = Required<Pick<HttpDeviceApiDeps, 'settings' | 'codec'>>;

/** @throws AgentError `agent/unreadable-file` (stop) for a certificate or key that cannot be read. */
export async function apiSettings(platform: PlatformConfig): Promise<ApiSettings> {
  const { url, connectTimeoutMs, requestTimeoutMs, proxy, caFile, clientCertificateFile, clientKeyFile } = platform;
  const [ca, clientCertificate, clientKey, codec] = await Promise.all([
    read(caFile),
    read(clientCertificateFile),
    read(clientKeyFile),
    payloadCodec(platform.codec),
  ]);
  const settings = {
    url,
    connectTimeoutMs,
    requestTimeoutMs,
    ...(ca === undefined ? {} : { ca }),
    ...(clientCertificate === undefined ? {} : { clientCertificate }),
    ...(clientKey === undefined ? {} : { clientKey }),
    ...(proxy === undefined ? {} : { proxy: proxy.reveal() }),
  };
  return { settings, codec };
}

export function credentialsSettings({ platform, provisioning }: AgentConfig): CredentialsSettings {
  const accessToken = platform.accessToken === undefined ? {} : { accessToken: platform.accessToken.reveal() };
  if (provisioning === undefined) return accessToken;
  const { deviceName, deviceKey, deviceSecret, onUnauthorised, onOtherBoard } = provisioning;
  const secret =
    deviceKey === undefined || deviceSecret === undefined
      ? {}
      : { secret: { deviceKey: deviceKey.reveal(), deviceSecret: deviceSecret.reveal() } };
  return { ...accessToken, provisioning: { deviceName, onUnauthorised, onOtherBoard, ...secret } };
}

/** CBOR's library is loaded only when it is chosen. */
async function payloadCodec(name: PlatformConfig['codec']): Promise<PayloadCodec> {
  return name === 'cbor' ? (await import('../platform/cbor-codec.ts')).cborCodec() : jsonCodec;
}

async function read(path: string | undefined): Promise<Buffer | undefined> {
  if (path === undefined) return undefined;
  return readFile(path).catch((cause: unknown) => {
    throw new AgentError('agent/unreadable-file', `cannot read ${path}: ${systemCode(cause)}`, { recovery: 'stop', cause });
  });
}
