import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveReferences } from './resolve-references.ts';

const ITEM = { id: 'msg_1', json: '{"type":"message","id":"msg_1","role":"user","content":"Hi"}' };

test('an item is asked for as often as it is referred to: each copy of it counts', async () => {
  const asked: string[] = [];
  const find = async (ids: readonly string[]) => {
    asked.push(...ids);
    return new Map([[ITEM.id, ITEM]]);
  };
  const said = { role: 'user', content: 'And?' };
  const wire = [{ type: 'item_reference', id: 'msg_1' }, said, { id: 'msg_1' }];
  const item: unknown = JSON.parse(ITEM.json);
  assert.deepEqual(await resolveReferences(wire, { at: 'input', max: 3, find }), [item, said, item]);
  assert.deepEqual(asked, ['msg_1', 'msg_1']);
});
