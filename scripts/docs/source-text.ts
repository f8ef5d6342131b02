/** Walking over TypeScript sources without a parser: where a comment, a text or a pattern ends. */

/** The place behind a comment, a text or a regular expression that begins here; the same place where none begins. */
export function skip(source: string, at: number): number {
  const two = source.slice(at, at + 2);
  if (two === '/*') return source.indexOf('*/', at) + 2;
  if (two === '//') return endOr(source, source.indexOf('\n', at));
  const sign = source[at] ?? '';
  if (sign === "'" || sign === '"') return endOfText(source, at, sign);
  if (sign === '`') return endOfTemplate(source, at);
  return sign === '/' && /(?:[(,=:[!&|?{};>]|return)\s*$/.test(source.slice(Math.max(0, at - 20), at))
    ? endOfPattern(source, at)
    : at;
}

function endOr(source: string, at: number): number {
  return at < 0 ? source.length : at;
}

function endOfText(source: string, at: number, quote: string): number {
  let end = at + 1;
  while (end < source.length && source[end] !== quote) end += source[end] === '\\' ? 2 : 1;
  return end + 1;
}

function endOfTemplate(source: string, at: number): number {
  let end = at + 1;
  while (end < source.length && source[end] !== '`') {
    if (source.startsWith('${', end)) end = endOfBraces(source, end + 2);
    else end += source[end] === '\\' ? 2 : 1;
  }
  return end + 1;
}

/** The place behind the brace that ends what begins here. */
function endOfBraces(source: string, at: number): number {
  let depth = 1;
  for (let end = at; end < source.length; end += 1) {
    const skipped = skip(source, end);
    if (skipped > end) end = skipped - 1;
    else if (source[end] === '{') depth += 1;
    else if (source[end] === '}') depth -= 1;
    if (depth === 0) return end + 1;
  }
  return source.length;
}

function endOfPattern(source: string, at: number): number {
  let inClass = false;
  for (let end = at + 1; end < source.length && source[end] !== '\n'; end += 1) {
    const sign = source[end];
    if (sign === '\\') end += 1;
    else if (sign === '[') inClass = true;
    else if (sign === ']') inClass = false;
    else if (sign === '/' && !inClass) return end + 1;
  }
  return at + 1;
}

/** The words of a text or template as they are told: … stands for what the program puts in. */
export function wordsOf(literal: string): string {
  const inner = literal.slice(1, -1);
  if (literal[0] !== '`') return unescaped(inner);
  let words = '';
  for (let at = 0; at < inner.length; ) {
    if (inner.startsWith('${', at)) {
      words += '…';
      at = endOfBraces(inner, at + 2);
    } else if (inner[at] === '\\') {
      words += inner[at + 1] ?? '';
      at += 2;
    } else {
      words += inner[at];
      at += 1;
    }
  }
  return words.replace(/…+/g, '…');
}

function unescaped(text: string): string {
  return text.replaceAll('\\n', ' ').replace(/\\(.)/g, '$1');
}
