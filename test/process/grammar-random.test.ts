import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';
import type { Llama } from 'node-llama-cpp';
import { randomTrials } from '../../src/grammar/__fixtures__/random-schemas.ts';

const SCHEMAS = Number(process.env['GRAMMAR_SCHEMAS'] ?? 10_000);

interface NativeGrammar {
  isTextCompatible(text: string): boolean;
}

/** In so many tests, so that none is near the limit of its time on a busy machine. */
const SHARES = 4;

describe(`the engine's own parser agrees on grammars of ${SCHEMAS} random schemas`, () => {
  let llama: Llama;
  before(async () => {
    llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.disabled });
  });
  after(() => llama.dispose());

  const share = Math.ceil(SCHEMAS / SHARES);
  for (const from of Array.from({ length: SHARES }, (_, at) => 1_000_000 + at * share)) {
    test(`from ${from} on`, async () => {
      let count = 0;
      for (const { seed, gbnf, accepted, rejected } of randomTrials(from, share)) {
        // The library does not show it, but tests its own grammars with it.
        const native = Reflect.get(await llama.createGrammar({ grammar: gbnf }), '_grammar') as NativeGrammar;
        for (const text of accepted) assert.ok(native.isTextCompatible(text), `seed ${seed}: ${text}\n${gbnf}`);
        for (const text of rejected) assert.ok(!native.isTextCompatible(text), `seed ${seed}: ${text}\n${gbnf}`);
        count++;
      }
      assert.ok(count > share * 0.8, `${count} were compiled`);
    });
  }
});
