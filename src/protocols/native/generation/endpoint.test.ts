import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelEntry } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import type { GenerationEvent } from '../../../core/event.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import { systemClock } from '../../../lib/clock.ts';
import { ENTRY, batchesOf } from './__fixtures__/golden-cases.ts';
import { multimodalGeneration, textGeneration } from './endpoint.ts';

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

function createRoom({ entry = ENTRY, strict = false }: { entry?: ModelEntry; strict?: boolean } = {}) {
  const heard: { request?: GenerationRequest; on?: string; resolved?: object } = {};
  const needs = {
    generate: (request: GenerationRequest, on: { readonly interface: string }) => {
      Object.assign(heard, { request, on: on.interface });
      return Promise.resolve({ batches: batchesOf(EVENTS), ignored: ['max_tokens(clamped)'] });
    },
    translate: () => Promise.reject(new Error('nothing is translated here')),
    catalogue: () => ({
      resolve: (asked: string, resolved: object) => {
        heard.resolved = resolved;
        return { asked, entry };
      },
    }),
    clock: systemClock,
    strict,
  };
  const post = (body: object, headers: Record<string, string> = {}, of = textGeneration) =>
    of(needs).handle({ body, params: {}, query: new URLSearchParams(), headers }, context);
  return { heard, post };
}

const body = { model: 'qwen-plus', input: { prompt: 'Hi' }, resources: [], parameters: { vl_what: 1 } };

test('plugins that a header asks for are named, as none is here', async () => {
  const { post } = createRoom();
  const reply = await post({ ...body, parameters: {} }, { 'x-dashscope-plugin': '{"pdf_extracter":{}}' });
  assert.ok(reply.type === 'json');
  assert.deepEqual(reply.headers, {
    'x-parley-ignored': 'parameters.max_tokens(clamped),resources,X-DashScope-Plugin',
  });
});

test('an answer has the request id, and what nobody knew or heard is named', async () => {
  const { post, heard } = createRoom();
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
  assert.equal(heard.on, 'native');
  assert.deepEqual(heard.resolved, {
    interface: 'native',
    owner: context.owner,
    without: ['translation', 'research'],
  });
});

test('a header makes a stream of it; a cumulative one is gathered, an incremental one is not', async () => {
  const { post } = createRoom();
  const parameters = { incremental_output: true };
  for (const [asked, isGathered] of [
    [body, true],
    [{ ...body, parameters }, false],
  ] as const) {
    const reply = await post(asked, { 'x-dashscope-sse': 'enable' });
    assert.equal(reply.type, 'stream');
    assert.equal(Symbol.asyncIterator in reply.batches && !('throw' in reply.batches), isGathered);
    let text = reply.encoder.open();
    for await (const batch of reply.batches) text += reply.encoder.push(batch);
    text += reply.encoder.close();
    assert.match(text, /^id:1\nevent:result\n:HTTP_STATUS\/200\ndata:\{"output":\{.*\},"request_id":"rid"\}\n\n/);
    assert.equal(text.includes('DONE'), false);
  }
});

test('the multimodal path answers in parts', async () => {
  const { post } = createRoom();
  const reply = await post({ ...body, parameters: { result_format: 'message' } }, {}, multimodalGeneration);
  assert.partialDeepStrictEqual(reply, {
    body: { output: { choices: [{ message: { role: 'assistant', content: [{ text: 'Hello' }] } }] } },
  });
});

test('log probabilities are not asked for where the answer has no place for them', async () => {
  const { post, heard } = createRoom();
  await post({ ...body, parameters: { logprobs: true } });
  assert.equal(heard.request?.logprobs, undefined);
  await post({ ...body, parameters: { logprobs: true, top_logprobs: 2, result_format: 'message' } });
  assert.deepEqual(heard.request?.logprobs, { top: 2 });
});

test('models with another dialect on this path are refused, as are tasks', async () => {
  for (const [other, of] of [
    ['translation', multimodalGeneration],
    ['research', textGeneration],
  ] as const) {
    const { post, heard } = createRoom({ entry: { ...ENTRY, interfaces: ['native', other] } });
    const refusal = { kind: 'model-not-supported', message: new RegExp(`interface, ${other},`) };
    await assert.rejects(post(body, {}, of), refusal);
    assert.equal(heard.request, undefined);
  }
  await assert.rejects(createRoom().post(body, { 'x-dashscope-async': 'enable' }), {
    kind: 'forbidden',
    message: 'Current user api does not support asynchronous calls.',
  });
});

test('a body that is none, and a strict service, refuse', async () => {
  await assert.rejects(createRoom().post([]), { message: /^Required body invalid/ });
  await assert.rejects(createRoom().post({ input: {} }), { message: /^Required parameter\(model\)/ });
  await assert.rejects(createRoom({ strict: true }).post(body), { param: 'resources' });
});

test('a model that was not set is missing', async () => {
  for (const model of [null, '', undefined])
    await assert.rejects(createRoom().post({ model, input: { prompt: 'Hi' } }), {
      message: 'Required parameter(model) missing or invalid, please check the request parameters.',
    });
});
