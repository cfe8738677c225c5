import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listIgnoredParts } from './list-ignored-parts.ts';

const createItem = (content: unknown, type = 'message') => ({
  id: 'x',
  json: JSON.stringify({ type, role: 'user', content }),
});
const TEXT = { type: 'input_text', text: 'Hi' };
const PICTURE = { type: 'input_image', image_url: 'data:image/png;base64,AA==' };
const EMPTY = { type: 'input_text', text: '' };

for (const [name, content, canSee, expected] of [
  ['a text', [TEXT], false, []],
  ['no part', [], true, ['items[1].content']],
  ['an empty text', [EMPTY], true, ['items[1].content']],
  ['an empty text beside another', [EMPTY, TEXT], true, []],
  ['a picture that a model can see', [PICTURE], true, []],
  ['a picture that no model can see', [TEXT, PICTURE], false, ['items[1].content[1]']],
] as const)
  test(`lists what no model will read: ${name}`, () => {
    const items = [createItem([TEXT]), createItem(content), createItem([], 'function_call')];
    assert.deepEqual(listIgnoredParts(items, { field: 'items', canSee }), expected);
  });
