/** Topics of MQTT and their filters: `+` stands for one level, `#` for all that follow (MQTT 5.0, section 4.7). */

/** Bytes of the longest topic there is. */
const MAX_TOPIC_BYTES = 65_535;

/** True for what a message can be published under. */
export function isTopic(text: string): boolean {
  return isTopicText(text) && !/[+#]/.test(text);
}

/** True for a topic, or one with `+` in place of whole levels and `#` in place of the last. */
export function isTopicFilter(text: string): boolean {
  return isTopicText(text) && text.split('/').every((level, at, all) => isLevel(level, at === all.length - 1));
}

/** True when a filter takes a topic; a topic of the broker itself (`$SYS/…`) is not taken by a filter that begins with a wildcard. */
export function matchesFilter(filter: string, topic: string): boolean {
  if (topic.startsWith('$') && !filter.startsWith('$')) return false;
  const levels = topic.split('/');
  const wanted = filter.split('/');
  for (const [at, level] of wanted.entries()) {
    if (level === '#') return true;
    if (at >= levels.length || (level !== '+' && level !== levels[at])) return false;
  }
  return wanted.length === levels.length;
}

function isTopicText(text: string): boolean {
  return text !== '' && text.isWellFormed() && !/\p{Cc}/u.test(text) && Buffer.byteLength(text) <= MAX_TOPIC_BYTES;
}

function isLevel(level: string, isLast: boolean): boolean {
  return level === '+' || (level === '#' && isLast) || !/[+#]/.test(level);
}
