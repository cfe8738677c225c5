import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelEntry } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import type { GenerationEvent } from '../../../core/event.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import type { ModelTarget } from '../../../generation/model-target.ts';
import { systemClock } from '../../../lib/clock.ts';
import { TEST_ENTRY, toBatches } from './__fixtures__/golden-cases.ts';
import { createMultimodalGenerationEndpoint, createTextGenerationEndpoint } from './endpoint.ts';

const EVENTS: readonly GenerationEvent[] = [
  { type: 'start', inputTokens: 3, cachedTokens: 0 },
  { type: 'block-start', choice: 0, index: 0, block: { type: 'text' } },
  { type: 'block-delta', choice: 0, index: 0, text: 'Hello', tokens: 2 },
  { type: 'block-end', choice: 0, index: 0 },
  { type: 'choice-end', choice: 0, reason: 'stop' },
  { type: 'end', usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 2 } },
];

const context: RequestContext = {
  requestId: 'rid',
  owner: { workspace: 'w', region: 'us-east-1', keyId: 'k' },
  signal: new AbortController().signal,
  log: { add: () => undefined, warn: () => undefined },
};

function createTestGeneration({ entry = TEST_ENTRY, strict = false }: { entry?: ModelEntry; strict?: boolean } = {}) {
  const lastCall: { request?: GenerationRequest; target?: ModelTarget; wanted?: object } = {};
  const deps = {
    generate: (request: GenerationRequest, target: ModelTarget) => {
      Object.assign(lastCall, { request, target });
      return Promise.resolve({ batches: toBatches(EVENTS), ignored: ['max_tokens(clamped)'] });
    },
    translate: () => Promise.reject(new Error('unexpected translation')),
    catalogue: () => ({
      resolve: async (requestedName: string, wanted: object) => {
        lastCall.wanted = wanted;
        return { requestedName, entry };
      },
    }),
    clock: systemClock,
    strict,
  };
  const post = (body: object, headers: Record<string, string> = {}, createEndpoint = createTextGenerationEndpoint) =>
    createEndpoint(deps).handle({ body, params: {}, query: new URLSearchParams(), headers }, context);
  return { lastCall, post };
}

const body = { model: 'qwen-plus', input: { prompt: 'Hi' }, resources: [], parameters: { vl_what: 1 } };

test('names the plugin header as ignored', async () => {
  const { post } = createTestGeneration();
  const reply = await post({ ...body, parameters: {} }, { 'x-dashscope-plugin': '{"pdf_extracter":{}}' });
  assert.ok(reply.type === 'json');
  assert.deepEqual(reply.headers, {
    'x-parley-ignored': 'parameters.max_tokens(clamped),resources,X-DashScope-Plugin',
  });
});

test('answers with the request id, and names unknown and ignored fields', async () => {
  const { post, lastCall } = createTestGeneration();
  assert.deepEqual(await post(body), {
    type: 'json',
    status: 200,
    body: {
      output: { finish_reason: 'stop', text: 'Hello' },
      usage: { input_tokens: 3, output_tokens: 2, prompt_tokens_details: { cached_tokens: 0 }, total_tokens: 5 },
      request_id: 'rid',
    },
    headers: { 'x-parley-ignored': 'parameters.max_tokens(clamped),resources,parameters.vl_what' },
  });
  assert.deepEqual(lastCall.target, { requestedName: 'qwen-plus', entry: TEST_ENTRY });
  assert.deepEqual(lastCall.wanted, {
    interface: 'native',
    owner: context.owner,
    exceptInterfaces: ['translation', 'research'],
  });
});

test('streams when a header requests it, coalescing batches of cumulative streams only', async () => {
  const { post } = createTestGeneration();
  const parameters = { incremental_output: true };
  for (const [sent, isGathered] of [
    [body, true],
    [{ ...body, parameters }, false],
  ] as const) {
    const reply = await post(sent, { 'x-dashscope-sse': 'enable' });
    assert.equal(reply.type, 'stream');
    assert.equal(Symbol.asyncIterator in reply.batches && !('throw' in reply.batches), isGathered);
    let text = reply.encoder.open();
    for await (const batch of reply.batches) text += reply.encoder.push(batch);
    text += reply.encoder.close();
    assert.match(text, /^id:1\nevent:result\n:HTTP_STATUS\/200\ndata:\{"output":\{.*\},"request_id":"rid"\}\n\n/);
    assert.equal(text.includes('DONE'), false);
  }
});

test('answers with parts on the multimodal path', async () => {
  const { post } = createTestGeneration();
  const reply = await post(
    { ...body, parameters: { result_format: 'message' } },
    {},
    createMultimodalGenerationEndpoint,
  );
  assert.partialDeepStrictEqual(reply, {
    body: { output: { choices: [{ message: { role: 'assistant', content: [{ text: 'Hello' }] } }] } },
  });
});

test("requests log probabilities only if the answer's format has a field for them", async () => {
  const { post, lastCall } = createTestGeneration();
  await post({ ...body, parameters: { logprobs: true } });
  assert.equal(lastCall.request?.logprobs, undefined);
  await post({ ...body, parameters: { logprobs: true, top_logprobs: 2, result_format: 'message' } });
  assert.deepEqual(lastCall.request?.logprobs, { top: 2 });
});

test('rejects models with another interface on this path, and asynchronous tasks', async () => {
  for (const [otherInterface, createEndpoint] of [
    ['translation', createMultimodalGenerationEndpoint],
    ['research', createTextGenerationEndpoint],
  ] as const) {
    const { post, lastCall } = createTestGeneration({
      entry: { ...TEST_ENTRY, interfaces: ['native', otherInterface] },
    });
    const refusal = { kind: 'model-not-supported', message: new RegExp(`interface, ${otherInterface},`) };
    await assert.rejects(post(body, {}, createEndpoint), refusal);
    assert.equal(lastCall.request, undefined);
  }
  await assert.rejects(createTestGeneration().post(body, { 'x-dashscope-async': 'enable' }), {
    kind: 'forbidden',
    message: 'Current user api does not support asynchronous calls.',
  });
});

test('rejects an invalid body, and unknown fields in strict mode', async () => {
  await assert.rejects(createTestGeneration().post([]), { message: /^Required body invalid/ });
  await assert.rejects(createTestGeneration().post({ input: {} }), { message: /^Required parameter\(model\)/ });
  await assert.rejects(createTestGeneration({ strict: true }).post(body), { param: 'resources' });
});

test('reports an empty or null model as missing', async () => {
  for (const model of [null, '', undefined])
    await assert.rejects(createTestGeneration().post({ model, input: { prompt: 'Hi' } }), {
      message: 'Required parameter(model) missing or invalid, please check the request parameters.',
    });
});
