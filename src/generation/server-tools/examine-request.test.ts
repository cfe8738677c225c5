import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import { createTestGeneration, ENTRY, REQUEST } from '../__fixtures__/test-generation.ts';
import { createCountPrompt } from '../count-prompt.ts';
import { createExamineRequest, type RequestExamination } from './examine-request.ts';

const examineWith = (input: 'prompt' | 'chat', request: object = {}): Promise<RequestExamination> => {
  const scripted = createScriptedEngine({ script: () => [], contextTokens: 500 });
  const engine = { ...scripted, capabilities: { ...scripted.capabilities, input } };
  const { deps, context, records } = createTestGeneration(engine, { entry: { ...ENTRY, contextTokens: 500 } });
  const { catalogue, acquireEngine } = deps;
  const countPrompt = createCountPrompt({ catalogue, acquireEngine, getModelStyle: () => ({}) });
  return createExamineRequest({ catalogue, acquireEngine, countPrompt })(
    { ...REQUEST, ...request },
    { interface: 'chat' },
    context,
  ).finally(() => {
    assert.equal(records.leasesReleased, records.leases);
    assert.equal(records.permits, 0);
  });
};

const toolUse = {
  tools: [{ name: 'f', description: '', parameters: undefined, field: 't' }],
  choice: 'auto',
  isParallel: false,
  streamsComplexArguments: false,
};

describe('createExamineRequest', () => {
  it('counts the prompt when the engine can count', async () => {
    const { contextTokens, promptTokens } = await examineWith('prompt');
    assert.equal(contextTokens, 500);
    assert.ok(promptTokens !== undefined && promptTokens > 0);
    assert.equal((await examineWith('chat')).promptTokens, undefined);
  });

  it('refuses a request as a generation does', async () => {
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'word '.repeat(600) }] }];
    await assert.rejects(examineWith('prompt', { messages }), { kind: 'context-exceeded', param: 'messages' });
    for (const input of ['prompt', 'chat'] as const) {
      await assert.rejects(examineWith(input, { toolUse }), { kind: 'unsupported', param: 'tools' });
      await assert.rejects(examineWith(input, { model: 'other' }), { kind: 'model-not-found' });
    }
  });
});
