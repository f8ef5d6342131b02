/**
 * A device that answers over HTTP. The answer is read as a line of the configured format, or by paths into its JSON. A password is given when the
 * device asks for it, and from then on with each request; an answer that leads elsewhere is not followed, as the password would go there too.
 */

import type { HttpAnswer } from '../../hardware/http-port.ts';
import type { Files } from '../../host/files.ts';
import { readWhole } from '../../host/whole-file.ts';
import { valuesAtPaths } from '../families/lines/json-values.ts';
import { openLineParser } from '../families/lines/line-format.ts';
import { parseOutput } from '../families/lines/output.ts';
import { sorted } from '../kind/outcome.ts';
import type { Refusal, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import type { HttpConfig } from './definition.ts';
import { authorization, type LoginChallenge, parseChallenge } from './digest-login.ts';

export async function open(
  config: HttpConfig,
  { ports, files, clock }: SensorDeps,
  _signal: AbortSignal,
): Promise<Sensor> {
  const { name, url, method, headers, body, maxBodyBytes, format, caFile, serverName, insecure } = config;
  const { host, pathname, search } = new URL(url);
  const ca = caFile === undefined ? undefined : await readAuthorities(files, caFile);
  const request = {
    method,
    url,
    tls: { insecure, ca, serverName },
    maxBytes: maxBodyBytes,
    body,
  };
  const parse = config.paths === undefined ? await openLineParser(config) : undefined;
  let challenge: LoginChallenge | undefined;
  let answers = 0;
  let refused: readonly Refusal[] = [];

  const ask = async (signal: AbortSignal): Promise<HttpAnswer> => {
    const login = loginOf(config);
    const own: Record<string, string> = {};
    if (login !== undefined && challenge !== undefined) {
      answers += 1;
      const clientNonce = Math.trunc(clock.jitter() * 2 ** 48).toString(16);
      own.authorization = authorization(challenge, login, {
        method,
        target: pathname + search,
        count: answers,
        clientNonce,
      });
    }
    return await ports.http.request({ ...request, headers: { accept: '*/*', ...headers, ...own } }, signal);
  };
  const askWithLogin = async (signal: AbortSignal): Promise<HttpAnswer> => {
    const answer = await ask(signal);
    if (answer.status !== 401 || config.user === undefined) return answer;
    const asked = parseChallenge(answer.headers['www-authenticate'] ?? '');
    if (asked === undefined)
      throw sensorFault('refused', `${host} asks for a password in a way that is not known here (Basic, Digest)`);
    challenge = asked;
    answers = 0;
    return await ask(signal);
  };
  return {
    name,
    read: async (signal) => {
      const { status, body: bytes } = await askWithLogin(signal);
      if (status < 200 || status > 299)
        throw sensorFault('refused', refusalInWords(host, status, config.user !== undefined));
      const answer = Buffer.from(bytes).toString('utf8');
      const given = sorted(
        parse === undefined ? valuesAtPaths(config.paths, answer) : parseOutput(answer, format, parse),
      );
      refused = given.refused;
      return given.readings;
    },
    refused: () => refused,
    close: async () => {},
  };
}

async function readAuthorities(files: Files, path: string): Promise<string> {
  const pem = await readWhole(files, path, { follow: true });
  if (pem === undefined) throw sensorFault('no-file', `${path} is not there`);
  return pem.toString('utf8');
}

function loginOf({ user, password }: HttpConfig) {
  return user === undefined || password === undefined ? undefined : { user, password: password.reveal() };
}

function refusalInWords(host: string, status: number, hasLogin: boolean): string {
  if (status === 401 || status === 403)
    return `${host} answers ${status}: ${hasLogin ? 'user or password is wrong' : 'it wants user and password'}`;
  if (status === 404) return `${host} answers 404: it has no such address`;
  if (status >= 300 && status < 400)
    return `${host} answers ${status}: it leads to another address, which is to be given instead`;
  return `${host} answers ${status}`;
}
