/** The configuration's platform section, with its files read, as the platform client wants it. */
import type { PlatformConfig } from '../config/schema/agent-config.ts';
import { AgentError, messageOf } from '../errors/agent-error.ts';
import type { Files } from '../host/files.ts';
import { readWhole } from '../host/whole-file.ts';
import type { ExternalFileSettings } from './external-file.ts';
import type { HttpDeviceApiDeps } from './http-device-api.ts';
import { jsonCodec, type PayloadCodec } from './payload-codec.ts';

export type ApiSettings = Required<Pick<HttpDeviceApiDeps, 'settings' | 'codec'>>;

/** @throws AgentError `agent/unreadable-file` (retry) for a certificate or key that cannot be read. */
export async function apiSettings(
  platform: PlatformConfig,
  files: Files,
  shortHandshake = false,
): Promise<ApiSettings> {
  const { url, connectTimeoutMs, requestTimeoutMs, proxy, caFile, clientCertificateFile, clientKeyFile } = platform;
  const [ca, clientCertificate, clientKey, codec] = await Promise.all([
    read(files, caFile),
    read(files, clientCertificateFile),
    read(files, clientKeyFile),
    payloadCodec(platform.codec),
  ]);
  const settings = {
    url,
    connectTimeoutMs,
    requestTimeoutMs,
    ca,
    clientCertificate,
    clientKey,
    proxy: proxy?.reveal(),
    shortHandshake,
  };
  return { settings, codec };
}

/** For a file that the platform points to: it may lie on the platform's own server, or behind the same private authority. @throws as `apiSettings`. */
export async function externalFileSettings(
  { proxy, caFile }: PlatformConfig,
  files: Files,
): Promise<Omit<ExternalFileSettings, 'clock'>> {
  return { ca: await read(files, caFile), proxy: proxy?.reveal() };
}

/** CBOR's library is loaded only when it is chosen. */
async function payloadCodec(name: PlatformConfig['codec']): Promise<PayloadCodec> {
  return name === 'cbor' ? (await import('./cbor-codec.ts')).cborCodec() : jsonCodec;
}

async function read(files: Files, path: string | undefined): Promise<Buffer | undefined> {
  if (path === undefined) return undefined;
  const unreadable = (why: string, cause?: unknown): AgentError =>
    new AgentError('agent/unreadable-file', why, { recovery: 'retry', cause });
  const content = await readWhole(files, path, { follow: true }).catch((cause: unknown) => {
    throw unreadable(messageOf(cause), cause);
  });
  if (content === undefined) throw unreadable(`cannot read ${path}: ENOENT`);
  return content;
}
