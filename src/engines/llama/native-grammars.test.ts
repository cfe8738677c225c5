import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createNativeGrammars } from './native-grammars.ts';

/** A binding that counts. */
function createRoom() {
  const room = { parsed: 0, firstStates: 0, copies: 0, collections: 0 };
  class AddonGrammar {
    constructor(gbnf: string) {
      if (gbnf === 'broken') throw new Error('Failed to parse grammar');
      room.parsed++;
    }
  }
  class AddonGrammarEvaluationState {
    constructor(from: unknown, grammar?: unknown) {
      if (grammar instanceof AddonGrammar) room.firstStates++;
      else if (from instanceof AddonGrammarEvaluationState) room.copies++;
    }
  }
  const grammars = createNativeGrammars(
    { exports: {}, model: {}, AddonGrammar, AddonGrammarEvaluationState },
    () => room.collections++,
  );
  return { room, grammars };
}

describe('parsed grammars', () => {
  it('are parsed once, and copied for each answer', () => {
    const { room, grammars } = createRoom();
    for (let i = 0; i < 5; i++) grammars.get('root ::= "a"').newState();
    grammars.get('root ::= "b"').newState();
    assert.deepEqual(room, { parsed: 2, firstStates: 2, copies: 6, collections: 0 });
    assert.throws(() => grammars.get('broken'), /Failed to parse/);
  });

  it('that were let go are collected by their size and by their number', () => {
    const { room, grammars } = createRoom();
    const large = grammars.get('x'.repeat(1024 * 1024));
    for (let i = 0; i < 40; i++) large.letGo();
    assert.equal(room.collections, 10);
    const small = grammars.get('root ::= "a"');
    for (let i = 0; i < 1024; i++) small.letGo();
    assert.equal(room.collections, 14);
  });
});
