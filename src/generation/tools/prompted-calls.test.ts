import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toDescribedTool } from './prompted-calls.ts';

describe('toDescribedTool', () => {
  it('adds what a schema leaves out: the properties of a tool without parameters, and descriptions', () => {
    const tool = { name: 'f', description: '', field: 'tools' };
    const empty = { type: 'object', properties: {} };
    assert.deepEqual(toDescribedTool({ ...tool, parameters: {} }).function.parameters, empty);
    assert.deepEqual(toDescribedTool({ ...tool, parameters: { type: 'object' } }).function.parameters, empty);
    const parameters = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
    assert.deepEqual(toDescribedTool({ ...tool, parameters }).function, {
      name: 'f',
      description: '',
      parameters: { ...parameters, properties: { a: { type: 'string', description: '' } } },
    });
  });
});
