import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LoadedModel } from '../engines/engine.ts';
import { detectModelInfo } from './check-abilities.ts';

const MODEL: LoadedModel = { contextTokens: 4096, vocabularySize: 10, specialTokens: [], bosToken: '', eosToken: '' };

describe('detectModelInfo', () => {
  it('finds the ability to fill a gap by the tokens of any family', () => {
    const canFill = (specialTokens: readonly string[]) =>
      detectModelInfo({ ...MODEL, specialTokens }, { input: 'prompt', logprobs: true }).abilities.fillInTheMiddle;
    assert.equal(canFill(['<fim_prefix>', '<fim_suffix>', '<fim_middle>']), true);
    assert.equal(canFill(['<｜fim▁begin｜>', '<｜fim▁hole｜>', '<｜fim▁end｜>']), true);
    assert.equal(canFill(['▁<PRE>', '▁<SUF>', '▁<MID>']), true);
    assert.equal(canFill(['[PREFIX]', '[SUFFIX]']), true);
    assert.equal(canFill(['<|fim_middle|>', '<|im_end|>']), false);
  });
});
