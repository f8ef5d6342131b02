/** The analytics service's bare wire, with a login, as wire-facts.md has it ("Analytics"); each test says how it answers. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface SeenCall {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

export interface FakeService {
  readonly url: string;
  readonly calls: SeenCall[];
  readonly logins: SeenCall[];
}

export type AnswerReport = (call: SeenCall, response: ServerResponse, index: number) => void;

/** A token whose claims say how long it lives; nobody checks its signature. */
export function jwt(name: string, lifetimeS: number): string {
  const claims = Buffer.from(JSON.stringify({ sub: name, iat: 1_000_000, exp: 1_000_000 + lifetimeS })).toString(
    'base64url',
  );
  return `e30.${claims}.c2ln`;
}

export async function fakeService(
  answerReport: AnswerReport,
  answerLogin: AnswerReport = (_call, response, index) =>
    json(response, 200, { token: jwt(`login-${index}`, 9_000), refreshToken: `refresh-${index}` }),
): Promise<FakeService> {
  const calls: SeenCall[] = [];
  const logins: SeenCall[] = [];
  const server: Server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const call = {
        path: request.url ?? '',
        headers: request.headers,
        body: JSON.parse(Buffer.concat(pieces).toString() || 'null'),
      };
      const isLogin = call.path.startsWith('/api/auth/');
      (isLogin ? logins : calls).push(call);
      if (isLogin) answerLogin(call, response, logins.length);
      else answerReport(call, response, calls.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls, logins };
}

export function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export const SMALL_REPORT = {
  columnLabels: ['Date', 'temperature'],
  dataTable: [
    { Date: '1780000000000', temperature: 20.5 },
    { Date: '1780000001000', temperature: 21 },
  ],
};
