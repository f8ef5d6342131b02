/** Requests in clear out of the LAN: the page leads on to TLS, everything else is refused, and a PIN is never looked at. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendText } from './answers.ts';

/** A name or an address, with a port; nothing that could end a header or name a user. */
const HOST = /^(?:[a-z0-9](?:[a-z0-9._-]{0,252})|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;
const PATH = /^\/(?:page(?:\/[\w./-]{0,200})?)?$/;
const NOT_LOOKED_AT =
  'this came unencrypted and was not looked at; if a PIN was in it, set another one, and use https://\n';

/** Answers without a word of the agent's. */
export function leadToTls(request: IncomingMessage, response: ServerResponse): void {
  const { method = '', headers, url = '' } = request;
  // The rest of the connection is not read.
  response.setHeader('connection', 'close');
  if (headers.authorization !== undefined || method === 'POST') sendText(response, 403, NOT_LOOKED_AT);
  else if ((method === 'GET' || method === 'HEAD') && PATH.test(url) && HOST.test(headers.host ?? '')) {
    response.setHeader('location', `https://${headers.host}${url}`);
    sendText(response, 308, `this page is at https://${headers.host}${url}\n`);
  } else {
    response.setHeader('upgrade', 'TLS/1.2, HTTP/1.1');
    response.setHeader('connection', 'upgrade, close');
    sendText(response, 426, 'in the network this port answers over https:// alone\n');
  }
}

/** Loopback alone: what comes by this machine's address in the LAN counts as from the LAN. */
export function isFromThisMachine({ socket: { remoteAddress = '' } }: Pick<IncomingMessage, 'socket'>): boolean {
  return /^(?:::ffff:)?127\.|^::1$/.test(remoteAddress);
}
