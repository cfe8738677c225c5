import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createCaller,
  FAKE_REPORT,
  readStream,
  createFakeTranslation,
} from '../../fields/__fixtures__/fake-translation.ts';
import { createTextGenerationEndpoint } from './endpoint.ts';

const input = { messages: [{ role: 'user', content: 'One. Two.' }] };
const options = { source_lang: 'English', target_lang: 'de', tm_list: [{ source: 'a', target: 'b' }], domains: 'law' };
const body = { model: 'qwen-mt-plus', input, parameters: { translation_options: options } };

const createTestTranslation = () => {
  const { deps, lastCall } = createFakeTranslation();
  return { lastCall, post: createCaller(createTextGenerationEndpoint(deps)) };
};

test('answers with the translation object, regardless of result_format', async () => {
  const { post, lastCall } = createTestTranslation();
  for (const format of [undefined, 'message', 'text']) {
    const reply = await post({ ...body, parameters: { ...body.parameters, result_format: format } });
    assert.equal(reply.type, 'json');
    assert.deepEqual(reply.body, {
      status_code: 200,
      request_id: 'rid',
      code: '',
      message: '',
      output: {
        text: null,
        finish_reason: 'stop',
        choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: 'Eins. Zwei.' } }],
        model_name: 'qwen-mt-plus',
      },
      usage: { input_tokens: 7, output_tokens: 4, total_tokens: 11 },
    });
    assert.deepEqual(reply.headers, {
      'x-parley-ignored': format === 'text' ? 'parameters.stop,parameters.result_format' : 'parameters.stop',
      'x-parley-terms': '1/2',
      'x-parley-translation': FAKE_REPORT,
    });
  }
  assert.partialDeepStrictEqual(lastCall, { wanted: { interface: 'native' }, target: { requestedName: body.model } });
  assert.deepEqual(lastCall.request?.options, {
    source: { name: 'English', code: 'en', hasSpaces: true },
    target: { name: 'German', code: 'de', hasSpaces: true },
    terms: [],
    memory: [{ source: 'a', target: 'b' }],
    domains: 'law',
  });
});

test('streams the translation so far, or increments on request, and the terms comment before the last event', async () => {
  for (const [isIncremental, contents] of [
    [false, ['Eins.', 'Eins. Zwei.']],
    [true, ['Eins.', ' Zwei.', '']],
  ] as const) {
    const parameters = { ...body.parameters, incremental_output: isIncremental };
    const text = await readStream(
      await createTestTranslation().post({ ...body, parameters }, { 'x-dashscope-sse': 'enable' }),
    );
    const outputs = Array.from(text.matchAll(/^data:(\{.*)$/gm), ([, data]) => JSON.parse(data ?? '').output);
    const last = outputs.map(({ choices }) => choices[0].message.content);
    if (isIncremental) assert.deepEqual(last, [...contents]);
    else assert.deepEqual([last[0], last.at(-1)], [...contents]);
    assert.equal(outputs.at(-1).finish_reason, 'stop');
    assert.equal(outputs[0].finish_reason, 'null');
    assert.match(
      text,
      /:parley-terms 1\/2\n\n:parley-translation unverified[^\n]*\n\nid:\d+\nevent:result\n:HTTP_STATUS\/200\ndata:[^\n]*"finish_reason":"stop"[^\n]*\n\n$/,
    );
  }
});

test('coalesces fast batches of a cumulative stream only', async () => {
  const { deps } = createFakeTranslation();
  const translate: typeof deps.translate = async (request) => {
    const { batches, ...rest } = await deps.translate(request, { interface: 'native' });
    return { ...rest, batches: tripleDeltas(batches) };
  };
  const clock = { ...deps.clock, monotonic: () => 0 };
  const post = createCaller(createTextGenerationEndpoint({ ...deps, translate, clock }));
  for (const [incremental_output, texts] of [
    [false, ['Eins.']],
    [true, ['Eins.', 'Eins.', 'Eins.']],
  ] as const) {
    const parameters = { ...body.parameters, incremental_output };
    const text = await readStream(await post({ ...body, parameters }, { 'x-dashscope-sse': 'enable' }));
    const contents = Array.from(text.matchAll(/"content":"([^"]*)"/g), ([, content]) => content ?? '');
    assert.deepEqual(
      contents.slice(
        0,
        contents.findIndex((each) => each.includes('Zwei')),
      ),
      [...texts],
    );
  }
});

/** Repeats the deltas of each batch twice. */
async function* tripleDeltas<Events extends readonly { readonly type: string }[]>(
  batches: AsyncIterable<Events>,
): AsyncGenerator<Events | readonly Events[number][]> {
  for await (const batch of batches) {
    yield batch;
    const deltas = batch.filter(({ type }) => type === 'block-delta');
    if (deltas.length > 0) yield* [deltas, deltas];
  }
}

test('accepts an output format', async () => {
  const { post, lastCall } = createTestTranslation();
  await post({ ...body, parameters: { ...body.parameters, response_format: { type: 'json_object' } } });
  assert.notEqual(lastCall.request?.request.outputFormat, undefined);
});

test('rejects a second message with its native field path', async () => {
  const messages = [{ role: 'system', content: 'Be brief.' }, ...input.messages];
  await assert.rejects(createTestTranslation().post({ ...body, input: { messages } }), { param: 'input.messages' });
  await assert.rejects(
    createTestTranslation().post({ ...body, parameters: { translation_options: { target_lang: 'x' } } }),
    {
      param: 'parameters.translation_options.target_lang',
    },
  );
  await createTestTranslation().post({ ...body, input: { prompt: 'One. Two.' } });
});
