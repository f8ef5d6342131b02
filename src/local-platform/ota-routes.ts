/** Endpoint 10 and its software twin for devices, and the REST side that makes, fills and assigns packages (wire-facts.md, "The people's side"). */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { Clock } from '../host/clock.ts';
import type { JsonObject } from '../host/json.ts';
import type { PlatformDevice } from './device-registry.ts';
import { type DeviceRoutesDeps, forDevice } from './device-routes.ts';
import { entityId, idIn, objectIn, page, TENANT_ID } from './entities.ts';
import { errorReply, jsonReply, type Reply } from './http-reply.ts';
import type { Call, Handler, Route } from './http-service.ts';
import { receiveFile } from './multipart.ts';
import type { OtaKind, OtaPackage, OtaPackages } from './ota-packages.ts';
import { CHECKSUM_ALGORITHMS, checksumOf, readPart } from './package-checksum.ts';
import { PayloadFault } from './payload-fault.ts';
import type { People } from './people.ts';
import { requiredText, wholeNumberOf } from './request-faults.ts';

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
      handler: (call) => sendPart(deps, 'FIRMWARE', call),
    },
    {
      method: 'GET',
      path: '/api/v1/:token/software',
      handler: (call) => sendPart(deps, 'SOFTWARE', call),
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
        const { id = '' } = call.params;
        if (packages.byId(id) === undefined) return notFound();
        const holder = packages.holderOf(id);
        if (holder !== undefined) throw new PayloadFault(`The otaPackage referenced by the ${holder} cannot be deleted!`);
        await packages.remove(id);
        return { status: 200 };
      }, 'TENANT_ADMIN'),
    },
  ];
}

/** Bytes [size × chunk, + size) of the assigned file; size below 1 is all of it, past the end is nothing. */
function sendPart(deps: OtaRoutesDeps, kind: OtaKind, call: Call): ReturnType<Handler> {
  const { query } = call;
  const title = requiredText(query, 'title');
  const version = requiredText(query, 'version');
  const size = wholeNumberOf(query.get('size'), 'size', 'int');
  const chunk = wholeNumberOf(query.get('chunk'), 'chunk', 'int');
  const send = (device: PlatformDevice): Reply => {
    const ota = deps.packages.assigned(device, kind);
    const file = ota?.file;
    if (ota === undefined || file === undefined) return { status: 404 };
    if (title !== ota.title || version !== ota.version) return { status: 400 };
    const isWhole = size < 1 || deps.wholeFileOnly;
    // The real server multiplies in 32 bits, and fails without a word before the beginning.
    const start = isWhole ? 0 : Math.imul(size, chunk);
    if (start < 0) return { status: 500 };
    const from = Math.min(file.from + start, file.until);
    const until = isWhole ? file.until : Math.min(from + size, file.until);
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
  };
  return forDevice(deps, send, 'empty')(call);
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
  const checksum = await checksumOf(file, checksumAlgorithm);
  if (given.checksum !== undefined && given.checksum !== checksum) {
    await rm(file.path, { force: true });
    throw new PayloadFault('Wrong otaPackage checksum!');
  }
  const filled: OtaPackage = { ...ota, file, checksumAlgorithm, checksum };
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
