import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createNativeGrammars } from './native-grammars.ts';

/** A fake binding that counts its calls. */
function createSetup() {
  const setup = { parsed: 0, firstStates: 0, copies: 0, collections: 0 };
  class AddonGrammar {
    constructor(gbnf: string) {
      if (gbnf === 'broken') throw new Error('Failed to parse grammar');
      setup.parsed++;
    }
  }
  class AddonGrammarEvaluationState {
    constructor(from: unknown, grammar?: unknown) {
      if (grammar instanceof AddonGrammar) setup.firstStates++;
      else if (from instanceof AddonGrammarEvaluationState) setup.copies++;
    }
  }
  const grammars = createNativeGrammars(
    { exports: {}, model: {}, AddonGrammar, AddonGrammarEvaluationState },
    () => setup.collections++,
  );
  return { setup, grammars };
}

describe('createNativeGrammars', () => {
  it('parses a grammar once, and copies its state for each answer', () => {
    const { setup, grammars } = createSetup();
    for (let i = 0; i < 5; i++) grammars.get('root ::= "a"').newState();
    grammars.get('root ::= "b"').newState();
    assert.deepEqual(setup, { parsed: 2, firstStates: 2, copies: 6, collections: 0 });
    assert.throws(() => grammars.get('broken'), /Failed to parse/);
  });

  it('collects garbage after a number of released states, and after a number of their characters', () => {
    const { setup, grammars } = createSetup();
    const large = grammars.get('x'.repeat(1024 * 1024));
    for (let i = 0; i < 40; i++) large.releaseState();
    assert.equal(setup.collections, 10);
    const small = grammars.get('root ::= "a"');
    for (let i = 0; i < 1024; i++) small.releaseState();
    assert.equal(setup.collections, 14);
  });
});
