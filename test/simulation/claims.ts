/** Somebody at the gateway opens a claim, reads the secret, and a customer becomes the owner with it; later the device is given back. */

import type { HttpService } from '../../src/stand-ins/local-platform/http-service.ts';
import { isJsonObject, type JsonObject, parseJson } from '../../src/values/json.ts';
import type { World } from './world.ts';

export interface Claim {
  readonly atMs: number;
  /** Answer of the platform to the customer. */
  readonly answer: string;
}

const DEVICE = '/api/customer/device/gateway/claim';
const NOBODY_GONE = new AbortController().signal;

/** @throws what the agent says when it opens none. */
export async function openAndUse(world: World): Promise<Claim> {
  const { life } = world;
  if (life === undefined) throw new Error('the agent does not run');
  const opened = await life.ask('claim', {});
  const secretKey = isJsonObject(opened) ? opened.secretKey : undefined;
  const login = await ask(world, {
    method: 'POST',
    url: '/api/auth/login',
    body: { username: 'customer@thingsboard.org', password: 'customer' },
  });
  const { token } = parseJson(login) as JsonObject;
  const headers = { 'x-authorization': `Bearer ${String(token)}` };
  const answer = await ask(world, { method: 'POST', url: DEVICE, headers, body: { secretKey: secretKey ?? '' } });
  await ask(world, { method: 'DELETE', url: DEVICE, headers, body: {} });
  return { atMs: world.timeline.nowMs, answer };
}

/** Over no network: the customer has one of their own. */
async function ask(
  { platform }: World,
  {
    body,
    headers = {},
    ...request
  }: Pick<Parameters<HttpService['answer']>[0], 'method' | 'url'> & {
    readonly body: JsonObject;
    readonly headers?: Record<string, string>;
  },
): Promise<string> {
  const { body: answer } = await platform.answer(
    {
      ...request,
      headers: { 'content-type': 'application/json', ...headers },
      body: Buffer.from(JSON.stringify(body)),
    },
    NOBODY_GONE,
  );
  return Buffer.from((answer as string | Uint8Array | undefined) ?? '').toString('utf8');
}
