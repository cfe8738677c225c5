import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveReferences } from './resolve-references.ts';

const ITEM = { id: 'msg_1', json: '{"type":"message","id":"msg_1","role":"user","content":"Hi"}' };

test('requests an item once per reference, because each copy counts against the size limit', async () => {
  const requestedIds: string[] = [];
  const find = async (ids: readonly string[]) => {
    requestedIds.push(...ids);
    return new Map([[ITEM.id, ITEM]]);
  };
  const message = { role: 'user', content: 'And?' };
  const wire = [{ type: 'item_reference', id: 'msg_1' }, message, { id: 'msg_1' }];
  const item: unknown = JSON.parse(ITEM.json);
  assert.deepEqual(await resolveReferences(wire, { field: 'input', max: 3, find }), [item, message, item]);
  assert.deepEqual(requestedIds, ['msg_1', 'msg_1']);
});
