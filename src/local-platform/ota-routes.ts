/** Endpoint 10 and its software twin for devices, and the REST side that makes, fills and assigns packages (platform-rest.md). */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../host/clock.ts';
import type { JsonObject } from '../host/json.ts';
import type { PlatformDevice } from './device-registry.ts';
import { type DeviceRoutesDeps, forDevice } from './device-routes.ts';
import { entityId, idIn, objectIn, page, TENANT_ID } from './entities.ts';
import { errorReply, jsonReply, type Reply } from './http-reply.ts';
import type { Call, Route } from './http-service.ts';
import { receiveFile } from './multipart.ts';
import type { OtaKind, OtaPackage, OtaPackages } from './ota-packages.ts';
import { CHECKSUM_ALGORITHMS, checksumOf, readPart } from './package-checksum.ts';
import { PayloadFault } from './payload.ts';
import type { People } from './people.ts';

export interface OtaRoutesDeps extends Pick<DeviceRoutesDeps, 'state' | 'rateLimit'> {
  readonly packages: OtaPackages;
  readonly people: People;
  readonly clock: Clock;
  readonly wholeFileOnly: boolean;
}

export function otaRoutes(deps: OtaRoutesDeps): readonly Route[] {
  const { packages, people, clock } = deps;
  const notFound = (): Reply => errorReply(404, "Requested item wasn't found!", clock, 32);
  return [
    {
      method: 'GET',
      path: '/api/v1/:token/firmware',
      handler: forDevice(deps, (device, call) => sendPart(deps, device, 'FIRMWARE', call)),
    },
    {
      method: 'GET',
      path: '/api/v1/:token/software',
      handler: forDevice(deps, (device, call) => sendPart(deps, device, 'SOFTWARE', call)),
    },
    {
      method: 'POST',
      path: '/api/otaPackage',
      handler: people.only((_user, call) => jsonReply(packageJson(savePackage(deps, call))), 'TENANT_ADMIN'),
    },
    {
      method: 'POST',
      path: '/api/otaPackage/:id',
      streamed: true,
      handler: people.only(async (_user, call) => {
        const ota = packages.byId(call.params.id ?? '');
        return ota === undefined ? notFound() : jsonReply(packageJson(await fillPackage(deps, ota, call)));
      }, 'TENANT_ADMIN'),
    },
    {
      method: 'GET',
      path: '/api/otaPackages',
      handler: people.only((_user, call) => jsonReply(page(packages.all.map(packageJson), call.query)), 'TENANT_ADMIN'),
    },
    {
      method: 'GET',
      path: '/api/otaPackage/info/:id',
      handler: people.only((_user, call) => {
        const ota = packages.byId(call.params.id ?? '');
        return ota === undefined ? notFound() : jsonReply(packageJson(ota));
      }),
    },
    {
      method: 'DELETE',
      path: '/api/otaPackage/:id',
      handler: people.only(async (_user, call) => {
        await packages.remove(call.params.id ?? '');
        return { status: 200 };
      }, 'TENANT_ADMIN'),
    },
  ];
}

/** Bytes [size × chunk, + size) of the assigned file; size 0 is all of it, past the end is nothing. */
function sendPart(deps: OtaRoutesDeps, device: PlatformDevice, kind: OtaKind, call: Call): Reply {
  const { query } = call;
  const ota = deps.packages.assigned(device, kind);
  const file = ota?.file;
  if (ota === undefined || file === undefined) return { status: 404 };
  if (query.get('title') !== ota.title || query.get('version') !== ota.version) return { status: 400 };
  const size = deps.wholeFileOnly ? 0 : wholeNumber(query, 'size');
  const chunk = deps.wholeFileOnly ? 0 : wholeNumber(query, 'chunk');
  if (size === undefined || chunk === undefined || size * chunk >= 2 ** 31) return { status: 400 };
  const from = Math.min(file.from + size * chunk, file.until);
  const until = size === 0 ? file.until : Math.min(from + size, file.until);
  return {
    status: 200,
    body: readPart({ path: file.path, from, until }),
    contentType: 'application/octet-stream',
    headers: {
      'content-length': String(until - from),
      'x-filename': file.fileName,
      'content-disposition': `attachment;filename=${encodeURIComponent(file.fileName)}`,
    },
  };
}

function savePackage(deps: OtaRoutesDeps, call: Call): OtaPackage {
  const { packages, clock } = deps;
  const body = objectIn(call);
  const { title, version, type, tag, url } = body;
  if (typeof title !== 'string' || title === '' || typeof version !== 'string' || version === '')
    throw new PayloadFault('OtaPackage title and version should be specified!');
  const kind: OtaKind = type === 'SOFTWARE' ? 'SOFTWARE' : 'FIRMWARE';
  const id = idIn(body.id);
  const before = id === undefined ? undefined : packages.byId(id);
  if (packages.all.some((other) => other.id !== id && other.kind === kind && other.title === title && other.version === version))
    throw new PayloadFault('OtaPackage with such title and version already exists!');
  const deviceProfileId = idIn(body.deviceProfileId);
  const ota: OtaPackage = {
    ...(before ?? { id: randomUUID(), createdMs: clock.wallMs() }),
    kind,
    title,
    version,
    ...(typeof tag === 'string' && tag !== '' ? { tag } : {}),
    ...(typeof url === 'string' && url !== '' ? { url } : {}),
    ...(deviceProfileId === undefined ? {} : { deviceProfileId }),
    ...checksumIn(body.checksum, body.checksumAlgorithm),
  };
  packages.put(ota);
  return ota;
}

async function fillPackage(deps: OtaRoutesDeps, ota: OtaPackage, call: Call): Promise<OtaPackage> {
  const file = await receiveFile(call.request, call.headers['content-type'], await deps.packages.pathFor(ota.id));
  const given = checksumIn(call.query.get('checksum') ?? undefined, call.query.get('checksumAlgorithm') ?? 'SHA256');
  const { checksumAlgorithm } = given;
  if (checksumAlgorithm === undefined) throw new PayloadFault('Unknown checksum algorithm');
  const filled: OtaPackage = { ...ota, file, checksumAlgorithm, checksum: given.checksum ?? (await checksumOf(file, checksumAlgorithm)) };
  deps.packages.put(filled);
  return filled;
}

function checksumIn(checksum: unknown, algorithm: unknown): Pick<OtaPackage, 'checksum' | 'checksumAlgorithm'> {
  const checksumAlgorithm = CHECKSUM_ALGORITHMS.find((known) => known === algorithm);
  return {
    ...(typeof checksum === 'string' && checksum !== '' ? { checksum } : {}),
    ...(checksumAlgorithm === undefined ? {} : { checksumAlgorithm }),
  };
}

function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? '0';
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

function packageJson(ota: OtaPackage): JsonObject {
  return {
    id: entityId('OTA_PACKAGE', ota.id),
    createdTime: ota.createdMs,
    tenantId: entityId('TENANT', TENANT_ID),
    deviceProfileId: ota.deviceProfileId === undefined ? null : entityId('DEVICE_PROFILE', ota.deviceProfileId),
    type: ota.kind,
    title: ota.title,
    version: ota.version,
    tag: ota.tag ?? null,
    url: ota.url ?? null,
    hasData: ota.file !== undefined || ota.url !== undefined,
    fileName: ota.file?.fileName ?? null,
    contentType: ota.file?.contentType ?? null,
    dataSize: ota.file === undefined ? 0 : ota.file.until - ota.file.from,
    checksum: ota.checksum ?? null,
    checksumAlgorithm: ota.checksumAlgorithm ?? null,
  };
}
