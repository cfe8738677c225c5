import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import { createHouse, ENTRY, REQUEST } from '../__fixtures__/house.ts';
import { createCountPrompt } from '../count-prompt.ts';
import { createExamine } from './examine.ts';
import type { Examined } from './examine.ts';

const examineOn = (input: 'prompt' | 'chat', request: object = {}): Promise<Examined> => {
  const scripted = createScriptedEngine({ script: () => [], contextTokens: 500 });
  const engine = { ...scripted, capabilities: { ...scripted.capabilities, input } };
  const { parts, context, books } = createHouse(engine, { entry: { ...ENTRY, contextTokens: 500 } });
  const { catalogue, engineFor } = parts;
  const countPrompt = createCountPrompt({ catalogue, engineFor, styleOf: () => ({}) });
  return createExamine({ catalogue, engineFor, countPrompt })(
    { ...REQUEST, ...request },
    { interface: 'chat' },
    context,
  ).finally(() => {
    assert.equal(books.leasesReleased, books.leases);
    assert.equal(books.permits, 0);
  });
};

const toolUse = {
  tools: [{ name: 'f', description: '', parameters: undefined, field: 't' }],
  choice: 'auto',
  isParallel: false,
  streamsComplex: false,
};

describe('a request is examined before any of its runs', () => {
  it('for its length and what it has room for, where the engine can count', async () => {
    const { contextTokens, promptTokens } = await examineOn('prompt');
    assert.equal(contextTokens, 500);
    assert.ok(promptTokens !== undefined && promptTokens > 0);
    assert.equal((await examineOn('chat')).promptTokens, undefined);
  });

  it('and refused as a generation would be', async () => {
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'word '.repeat(600) }] }];
    await assert.rejects(examineOn('prompt', { messages }), { kind: 'context-exceeded', param: 'messages' });
    for (const input of ['prompt', 'chat'] as const) {
      await assert.rejects(examineOn(input, { toolUse }), { kind: 'unsupported', param: 'tools' });
      await assert.rejects(examineOn(input, { model: 'other' }), { kind: 'model-not-found' });
    }
  });
});
