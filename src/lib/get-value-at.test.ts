import assert from 'node:assert/strict';
import { it } from 'node:test';
import { getValueAt } from './get-value-at.ts';

it('getValueAt returns nested values, and undefined for missing and inherited ones', () => {
  const root = { list: [{ name: 'a' }], empty: null };
  assert.equal(getValueAt(root, []), root);
  assert.equal(getValueAt(root, ['list', 0, 'name']), 'a');
  for (const path of [['list', 1], ['empty', 'name'], ['list', 0, 'name', 'length'], ['toString']])
    assert.equal(getValueAt(root, path), undefined);
});
