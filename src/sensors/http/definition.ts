/** A device that answers over HTTP with JSON or text: an inverter, a charger, a meter, a weather station. One answer gives many keys. */
import { z } from 'zod';
import type { ConfigPath } from '../../config/fields/config-fault.ts';
import { existingFile, handedOn, requestUrl, secretFields, size, table, text } from '../../config/fields/fields.ts';
import { type Finding, finding, noEffect } from '../../config/fields/findings.ts';
import { jsonPathFaults, jsonPaths, LINE_KEYS, lineFormatFields } from '../families/lines/definition.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

/** Answers of inverters with all their phases have some 20 kB. */
const DEFAULT_MAX_BODY = '256kB';

const schema = sensorSection('http', () => ({
  url: requestUrl(),
  method: z.enum(['GET', 'POST']).default('GET'),
  body: handedOn().max(8_192).optional(),
  headers: table(
    text(/^[A-Za-z0-9-]{1,64}$/, 'the name of a header'),
    text(/^[^\r\n\0]{0,1024}$/, 'text of one line').meta({ private: true }),
  ).default({}),
  /** Given as the device asks for it: Basic or Digest. */
  user: z.string().max(255).optional(),
  ...secretFields('password'),
  /** Authorities to trust instead of the public ones, PEM; the device's own certificate is one. */
  caFile: existingFile().optional(),
  /** Name in the device's certificate, where it is reached by another or by its number. */
  serverName: text(/^[A-Za-z0-9.-]{1,253}$/, 'a host name').optional(),
  /** True takes any certificate: whoever is between can read the password and answer in its place. */
  insecure: z.boolean().default(false),
  maxBody: size({ min: '100B', max: '4MB' }).prefault(DEFAULT_MAX_BODY),
  ...lineFormatFields,
  /** For `json`: key and place in the answer: `emeters[0].power`. Without them each member of the answer is a key. */
  paths: jsonPaths().optional(),
}));

export type HttpConfig = ConfigOf<typeof schema>;

export const http = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  ...LINE_KEYS,
  keys: (config) => (config.paths === undefined ? LINE_KEYS.keys(config) : Object.keys(config.paths)),
  keepsTimes: true,
  faults: (config, path) => [
    ...LINE_KEYS.faults(config, path),
    ...requestFaults(config, path),
    ...jsonPathFaults(config, path),
  ],
  remedy: () => 'ask it by hand (curl) from this gateway',
});

function requestFaults(
  { url, method, body, user, password, insecure, caFile, serverName }: HttpConfig,
  path: ConfigPath,
): Finding[] {
  const findings: Finding[] = [];
  if (method === 'GET' && body !== undefined) findings.push(noEffect(path, 'body', 'method: POST'));
  if ((user === undefined) !== (password === undefined))
    findings.push(
      finding([...path, user === undefined ? 'password' : 'user'], 'one without the other:', 'user and password'),
    );
  if (url.startsWith('http:'))
    for (const [option, value] of Object.entries({ caFile, serverName, insecure: insecure || undefined }))
      if (value !== undefined) findings.push(noEffect(path, option, 'an address beginning with https://'));
  if (insecure && caFile !== undefined) findings.push(noEffect(path, 'caFile', 'insecure: false'));
  else if (insecure && url.startsWith('https:'))
    findings.push(
      finding([...path, 'insecure'], 'any certificate is taken:', 'caFile: with the device’s certificate', {
        warning: true,
      }),
    );
  return findings;
}
