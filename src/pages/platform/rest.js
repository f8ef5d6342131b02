/** The platform's REST API, as the page needs it: what is asked is what one would ask of a real platform. */
import { parse } from '../shared/words.js';

const KEPT_AS = 'turnstone-platform-token';
const TELEMETRY = '/api/plugins/telemetry';

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

let token = sessionStorage.getItem(KEPT_AS) ?? undefined;

export function hasToken() {
  return token !== undefined;
}

export async function logIn(username, password) {
  const answer = await ask('/api/auth/login', { body: { username, password } });
  token = answer.token;
  sessionStorage.setItem(KEPT_AS, token);
}

export function logOut() {
  token = undefined;
  sessionStorage.removeItem(KEPT_AS);
}

export const user = () => ask('/api/auth/user');
export const settings = () => ask('/page/settings');
export const devices = async () => (await ask('/api/tenant/devices?pageSize=100')).data;
export const makeDevice = (name) => ask('/api/device', { body: { name, type: 'default' } });
export const credentials = async (id) => (await ask(`/api/device/${id}/credentials`)).credentialsId;
export const latest = (id) => ask(`${TELEMETRY}/DEVICE/${id}/values/timeseries?useStrictDataTypes=true`);
export const attributes = (id, scope) => ask(`${TELEMETRY}/DEVICE/${id}/values/attributes/${scope}`);
export const setAttribute = (id, scope, key, value) =>
  ask(`${TELEMETRY}/DEVICE/${id}/attributes/${scope}`, { body: { [key]: value } });
export const removeAttribute = (id, scope, key) =>
  ask(`${TELEMETRY}/DEVICE/${id}/${scope}?keys=${encodeURIComponent(key)}`, { method: 'DELETE' });
export const call = (id, request, isOneway) =>
  ask(`/api/rpc/${isOneway ? 'oneway' : 'twoway'}/${id}`, { body: request });
export const packages = async () => (await ask('/api/otaPackages?pageSize=100')).data;
export const claim = (name, secretKey) =>
  ask(`/api/customer/device/${encodeURIComponent(name)}/claim`, { body: { secretKey } });
export const release = (name) => ask(`/api/customer/device/${encodeURIComponent(name)}/claim`, { method: 'DELETE' });

/** One key's times and values, oldest first. */
export async function series(id, key, { fromMs, toMs }) {
  const query = new URLSearchParams({
    keys: key,
    startTs: Math.round(fromMs),
    endTs: Math.ceil(toMs) + 1,
    limit: 20_000,
    orderBy: 'ASC',
    useStrictDataTypes: true,
  });
  const points = ((await ask(`${TELEMETRY}/DEVICE/${id}/values/timeseries?${query}`))[key] ?? []).filter(({ value }) =>
    ['number', 'boolean'].includes(typeof value),
  );
  return [points.map(({ ts }) => ts), points.map(({ value }) => Number(value))];
}

export async function assignFirmware(device, packageId) {
  await ask('/api/device', {
    body: { ...device, firmwareId: packageId === '' ? null : { entityType: 'OTA_PACKAGE', id: packageId } },
  });
}

export async function uploadPackage({ title, version, file }) {
  const made = await ask('/api/otaPackage', { body: { title, version, type: 'FIRMWARE' } });
  const form = new FormData();
  form.append('file', file);
  return ask(`/api/otaPackage/${made.id.id}?checksumAlgorithm=SHA256`, { method: 'POST', form });
}

export const views = (path) => ask(`${path}/views`);
export const report = (path, request) =>
  ask(`${path}/publicApi/buildReport`, { body: request, headers: { jwt: token } });

async function ask(path, { method, body, form, headers } = {}) {
  const answer = await fetch(path, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(token === undefined ? {} : { 'x-authorization': `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: form ?? (body === undefined ? undefined : write(body)),
  });
  const text = await answer.text();
  // Some faults are bare text, and some a bare word in JSON.
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
  const said = text === '' || !isJson ? text : parse(text);
  if (!answer.ok) {
    const word = typeof said === 'string' && said !== '' ? said : undefined;
    const otherwise = answer.status === 504 ? 'the device did not answer in time' : `answered ${answer.status}`;
    throw new Refused(answer.status, said?.message ?? word ?? otherwise);
  }
  return said === '' ? undefined : said;
}

/** JSON that keeps every digit of a whole number, where the browser can. */
export function write(value) {
  return JSON.stringify(value, (_key, item) =>
    typeof item === 'bigint' ? (JSON.rawJSON?.(String(item)) ?? Number(item)) : item,
  );
}
