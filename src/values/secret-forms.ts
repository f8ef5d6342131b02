/**
 * The texts in which a secret may come back from others: as it is, and as JSON, an address or Base64 write it. Of an address with user and
 * password these are also its password alone and what a client makes of both for `Proxy-Authorization` (RFC 7617).
 */

/** A part shorter than this would blot out ordinary words. */
const MIN_PART_LENGTH = 4;

/** Every form of these secrets, longest first: one may be the beginning of another. */
export function secretForms(secrets: Iterable<string>): readonly string[] {
  const forms = new Set<string>();
  for (const secret of secrets) {
    for (const form of formsOf(secret)) forms.add(form);
    for (const part of partsOf(secret))
      for (const form of formsOf(part)) if (form.length >= MIN_PART_LENGTH) forms.add(form);
  }
  forms.delete('');
  return [...forms].sort((one, other) => other.length - one.length);
}

/** The text with every form replaced. */
export function withoutSecrets(text: string, forms: readonly string[], mask: string): string {
  return forms.reduce((safe, form) => safe.replaceAll(form, mask), text);
}

/** The first `length` characters of a text with every form replaced; a form that this cuts is left out with its beginning. */
export function beginningWithoutSecrets(text: string, length: number, forms: readonly string[], mask: string): string {
  const safe = withoutSecrets(text.slice(0, length), forms, mask);
  if (text.length <= length) return safe;
  return safe.slice(0, safe.length - Math.max(0, ...forms.map((form) => begunAtEnd(safe, form))));
}

/** How many characters at the end of a text a form may begin with. */
function begunAtEnd(text: string, form: string): number {
  let length = Math.min(form.length - 1, text.length);
  while (length > 0 && !text.endsWith(form.slice(0, length))) length -= 1;
  return length;
}

function formsOf(secret: string): readonly string[] {
  const well = secret.toWellFormed();
  return [
    secret,
    encodeURIComponent(well),
    JSON.stringify(secret).slice(1, -1),
    Buffer.from(secret).toString('base64'),
  ];
}

/** Returns the secret parts of an address: its password, or the user where there is none, and both together as a header has them. */
function partsOf(secret: string): readonly string[] {
  const url = secret.includes('@') ? URL.parse(secret) : null;
  if (url === null || (url.username === '' && url.password === '')) return [];
  const [user, password] = [decoded(url.username), decoded(url.password)];
  const asWritten = secret.slice(secret.indexOf('://') + 3, secret.lastIndexOf('@'));
  const own =
    url.password === '' ? [url.username, user] : [url.password, password, asWritten.slice(asWritten.indexOf(':') + 1)];
  return [...own, asWritten, `${url.username}:${url.password}`, `${user}:${password}`];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
