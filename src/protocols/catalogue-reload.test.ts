import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ModelEntry, ResolvedModel } from '../catalogue/model.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import { createCountPrompt } from '../generation/count-prompt.ts';
import { createFitHistory } from '../generation/fit-history.ts';
import { createGenerate } from '../generation/generate.ts';
import type { Generate } from '../generation/generation.ts';
import { ENTRY, createTestDeps } from '../generation/__fixtures__/test-generation.ts';
import { systemClock } from '../lib/clock.ts';
import { createChatCompletionsEndpoint } from './compatible/chat-completions/endpoint.ts';
import { createCompletionsEndpoint } from './compatible/completions/endpoint.ts';
import { parseResponseRequest } from './compatible/responses/parse-response-request.ts';
import { startAnswer } from './compatible/responses/start-answer.ts';
import type { Endpoint } from './endpoint.ts';
import { createMessagesEndpoint } from './messages/create/endpoint.ts';
import { createTextGenerationEndpoint } from './native/generation/endpoint.ts';

/** Creates a pipeline whose catalogue is reloaded after an endpoint has checked a request, before the request runs. */
function createReloadedPipeline() {
  const engine = createScriptedEngine({ script: () => [{ type: 'tokens', tokens: ['Hi'] }], contextTokens: 100 });
  const { deps: testDeps, context } = createTestDeps(engine);
  const before: ModelEntry = { ...ENTRY, interfaces: ['chat', 'messages', 'responses', 'completions', 'native'] };
  const after: ModelEntry = { ...before, sampling: { temperature: 0.9 } };
  let current = before;
  const executed: ModelEntry[] = [];
  const catalogue = {
    resolve: async (name: string): Promise<ResolvedModel> => ({ requestedName: name, entry: current }),
  };
  const acquireEngine = (model: ResolvedModel) => {
    executed.push(model.entry);
    return testDeps.acquireEngine(model);
  };
  const runDeps = { ...testDeps, catalogue, acquireEngine, getModelStyle: () => ({ stopTokens: [] }) };
  const runGeneration = createGenerate({
    ...runDeps,
    ids: { createToolCallId: () => 'call_1' },
    answerChecker: { findProblem: async () => undefined },
    openImages: () => ({ inline: async (messages) => messages, release: () => undefined }),
  });
  const generate: Generate = (...request) => {
    current = after;
    return runGeneration(...request);
  };
  const translate = () => Promise.reject(new Error('unexpected translation'));
  const fitHistory = createFitHistory({
    generate,
    countPrompt: createCountPrompt({ ...runDeps, getModelStyle: () => ({}) }),
  });
  const endpointDeps = { generate, translate, fitHistory, catalogue: () => catalogue, clock: systemClock };
  return { endpointDeps, context, before, executed };
}

const messages = [{ role: 'user', content: 'Hi' }];

describe('an endpoint whose catalogue is reloaded between the checks and the run', () => {
  type Pipeline = ReturnType<typeof createReloadedPipeline>;
  const cases: readonly [string, (deps: Pipeline['endpointDeps']) => Endpoint, object][] = [
    ['chat completions', createChatCompletionsEndpoint, { model: 'm', messages }],
    ['completions', createCompletionsEndpoint, { model: 'm', prompt: ['Hi', 'Ho'] }],
    ['messages', createMessagesEndpoint, { model: 'm', messages, max_tokens: 5 }],
    ['native generation', createTextGenerationEndpoint, { model: 'm', input: { messages } }],
  ];
  for (const [name, create, body] of cases)
    it(`runs the entry it was checked against: ${name}`, async () => {
      const { endpointDeps, context, before, executed } = createReloadedPipeline();
      const request = { body, params: {}, query: new URLSearchParams(), headers: {} };
      const reply = await create(endpointDeps).handle(request, context);
      assert.equal(reply.type, 'json');
      assert.ok(executed.length > 0 && executed.every((entry) => entry === before));
    });

  it('runs the entry it was checked against: responses', async () => {
    const { endpointDeps, context, before, executed } = createReloadedPipeline();
    const requestDeps = {
      catalogue: endpointDeps.catalogue,
      responses: { findItems: async () => new Map() },
      ids: { createSortableId: () => 'msg_1' },
      findDocument: () => assert.fail('no document is named'),
      strict: false,
    };
    const request = await parseResponseRequest({ model: 'm', input: 'Hi' }, requestDeps, context);
    const unused = () => assert.fail('nothing is stored');
    const turn = { history: [], olderItems: 0, complete: unused, abandon: unused };
    await startAnswer({ id: 'resp_1', turn, request }, endpointDeps, context);
    assert.equal(executed.length, 1);
    assert.equal(executed[0], before);
  });
});
