import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadedModel } from '../engine.ts';
import { createTemplateOverride } from './template-override.ts';

const MODEL: LoadedModel = {
  contextTokens: 1,
  vocabularySize: 1,
  chatTemplate: 'chat',
  toolTemplate: 'tools',
  specialTokens: [],
  bosToken: '',
  eosToken: '',
};

test('replaces all templates of a model, with one object per model, which renderers use as a key', () => {
  const override = createTemplateOverride('mine');
  const { toolTemplate: _, ...others } = MODEL;
  assert.deepEqual(override(MODEL), { ...others, chatTemplate: 'mine' });
  assert.equal(override(MODEL), override(MODEL));
});

test('returns the model itself without a template', () => {
  assert.equal(createTemplateOverride(undefined)(MODEL), MODEL);
});
