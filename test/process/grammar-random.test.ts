import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';
import type { Llama } from 'node-llama-cpp';
import { createRandomTrials } from '../../src/grammar/__fixtures__/random-trials.ts';

/** A full run (PARLEY_TEST_FULL=1) has 25 times as many. */
const SCHEMAS = process.env['PARLEY_TEST_FULL'] === '1' ? 10_000 : 400;

interface NativeGrammar {
  isTextCompatible(text: string): boolean;
}

/** Number of tests, so that each of them stays far below the time limit on a busy machine. */
const TESTS = 4;

describe(`llama.cpp agrees with Parley on grammars of ${SCHEMAS} random schemas`, () => {
  let llama: Llama;
  before(async () => {
    llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.disabled });
  });
  after(() => llama.dispose());

  const schemasPerTest = Math.ceil(SCHEMAS / TESTS);
  for (const firstSeed of Array.from({ length: TESTS }, (_, at) => 1_000_000 + at * schemasPerTest)) {
    test(`seeds from ${firstSeed}`, async () => {
      let count = 0;
      for (const { seed, gbnf, accepted, rejected } of createRandomTrials(firstSeed, schemasPerTest)) {
        // A private field, which the library uses to test its own grammars.
        const native = Reflect.get(await llama.createGrammar({ grammar: gbnf }), '_grammar') as NativeGrammar;
        for (const text of accepted) assert.ok(native.isTextCompatible(text), `seed ${seed}: ${text}\n${gbnf}`);
        for (const text of rejected) assert.ok(!native.isTextCompatible(text), `seed ${seed}: ${text}\n${gbnf}`);
        count++;
      }
      assert.ok(count > schemasPerTest * 0.8, `${count} were compiled`);
    });
  }
});
