import { stripTypeScriptTypes } from 'node:module';
import { describe, expect, it } from 'vitest';
import { AIMS } from '../../simulation/planted/aims.ts';
import { withFault } from '../../simulation/planted/fault.ts';
import { FAULTS } from '../../simulation/planted/faults.ts';
import { SENTENCES } from '../../simulation/witness/sentences.ts';

describe('the planted faults', () => {
  it('have names of their own', () => {
    const names = FAULTS.map(({ name }) => name);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  it.each(FAULTS.map((fault) => [fault.name, fault] as const))(
    'fits today’s code once, and compiles: %s',
    (_name, fault) => {
      // @throws when the old text is not there exactly once.
      const planted = withFault(fault);
      expect(fault.new).not.toBe(fault.old);
      // Strips the types, and throws where there is no program.
      expect(stripTypeScriptTypes(planted)).toContain('export');
    },
  );

  it.each(SENTENCES.map(({ name }) => name))('are at least two for the sentence: %s', (sentence) => {
    const aimed = new Set(AIMS[sentence]);
    expect(aimed.size).toBeGreaterThanOrEqual(2);
    const names = new Set(FAULTS.map(({ name }) => name));
    expect([...aimed].filter((name) => !names.has(name))).toEqual([]);
  });

  it('are aimed at nothing that the witness does not state', () => {
    const stated = new Set(SENTENCES.map(({ name }) => name));
    expect(Object.keys(AIMS).filter((sentence) => !stated.has(sentence))).toEqual([]);
  });
});
