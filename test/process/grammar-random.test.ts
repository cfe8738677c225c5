import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';
import { randomTrials } from '../../src/grammar/__fixtures__/random-schemas.ts';

const SCHEMAS = Number(process.env['GRAMMAR_SCHEMAS'] ?? 10_000);

interface NativeGrammar {
  isTextCompatible(text: string): boolean;
}

test(`the engine's own parser agrees on grammars of ${SCHEMAS} random schemas`, async () => {
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.disabled });
  try {
    let count = 0;
    for (const { seed, gbnf, accepted, rejected } of randomTrials(1_000_000, SCHEMAS)) {
      // The library does not show it, but tests its own grammars with it.
      const native = Reflect.get(await llama.createGrammar({ grammar: gbnf }), '_grammar') as NativeGrammar;
      for (const text of accepted) assert.ok(native.isTextCompatible(text), `seed ${seed}: ${text}\n${gbnf}`);
      for (const text of rejected) assert.ok(!native.isTextCompatible(text), `seed ${seed}: ${text}\n${gbnf}`);
      count++;
    }
    assert.ok(count > SCHEMAS * 0.8, `${count} were compiled`);
  } finally {
    await llama.dispose();
  }
});
