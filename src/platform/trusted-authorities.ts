/**
 * Whom a TLS connection believes, when the site has an authority of its own: it comes beside the public ones, so that it can be named before
 * the platform changes its certificate, and nothing is cut off by naming it. Node forgets its own list as soon as it is given any.
 */
import { getCACertificates } from 'node:tls';

/** PEM, one certificate or several. */
type Authority = string | Buffer;

/** What to add to a connection's options; nothing without `own`, because Node then keeps its list ready, and a new one costs some ms. */
export function trusting(own: Authority | undefined): { readonly ca?: Authority[] } {
  return own === undefined ? {} : { ca: [...getCACertificates('default'), own] };
}
