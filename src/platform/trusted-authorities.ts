/**
 * Authorities that a TLS connection trusts when the site has its own: it comes beside the public ones, so that it can be named before
 * the platform changes its certificate, and nothing is cut off by naming it. Node forgets its own list as soon as it is given any.
 */
import { getCACertificates } from 'node:tls';

/** PEM, one certificate or several. */
type Authority = string | Buffer;

/** Returns options to add to a connection's; none without `own`, because Node then keeps its list ready, and a new one costs some ms. */
export function trusting(own: Authority | undefined): { readonly ca?: Authority[] } {
  return own === undefined ? {} : { ca: [...getCACertificates('default'), own] };
}
