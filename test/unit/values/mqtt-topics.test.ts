import { expect, it } from 'vitest';
import { isTopic, isTopicFilter, matchesFilter } from '../../../src/values/mqtt-topics.ts';

// Examples of MQTT 5.0, sections 4.7.1 and 4.7.2.
it.each([
  ['sport/tennis/player1/#', 'sport/tennis/player1', true],
  ['sport/tennis/player1/#', 'sport/tennis/player1/score/wimbledon', true],
  ['sport/#', 'sport', true],
  ['sport/tennis/+', 'sport/tennis/player1', true],
  ['sport/tennis/+', 'sport/tennis/player1/ranking', false],
  ['sport/+', 'sport', false],
  ['sport/+', 'sport/', true],
  ['+/+', '/finance', true],
  ['/+', '/finance', true],
  ['+', '/finance', false],
  ['#', '$SYS/broker/uptime', false],
  ['+/monitor/Clients', '$SYS/monitor/Clients', false],
  ['$SYS/#', '$SYS/broker/uptime', true],
])('the filter %s and the topic %s: %s', (filter, topic, isTaken) => {
  expect(matchesFilter(filter, topic)).toBe(isTaken);
});

it.each(['a/+b', 'a/#/b', 'a#', '', 'a\u0000b'])('%j is no filter', (text) => {
  expect(isTopicFilter(text)).toBe(false);
});

it('a topic has no wildcards', () => {
  expect(isTopic('a/b')).toBe(true);
  expect(isTopic('a/+')).toBe(false);
  expect(isTopicFilter('#')).toBe(true);
});
