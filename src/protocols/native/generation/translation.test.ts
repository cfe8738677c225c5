import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askOf, bytesOf, createTranslating } from '../../fields/__fixtures__/translating.ts';
import { textGeneration } from './endpoint.ts';

const input = { messages: [{ role: 'user', content: 'One. Two.' }] };
const options = { source_lang: 'English', target_lang: 'de', tm_list: [{ source: 'a', target: 'b' }], domains: 'law' };
const body = { model: 'qwen-mt-plus', input, parameters: { translation_options: options } };

const room = () => {
  const { needs, heard } = createTranslating();
  return { heard, ask: askOf(textGeneration(needs)) };
};

test('a translation has the response object of translations, whatever format is asked for', async () => {
  const { ask, heard } = room();
  for (const format of [undefined, 'message', 'text']) {
    const reply = await ask({ ...body, parameters: { ...body.parameters, result_format: format } });
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
    });
  }
  assert.equal(heard.on, 'native');
  assert.deepEqual(heard.wish?.options, {
    source: { name: 'English', code: 'en', hasSpaces: true },
    target: { name: 'German', code: 'de', hasSpaces: true },
    terms: [],
    memory: [{ source: 'a', target: 'b' }],
    domains: 'law',
  });
});

test('a stream tells the translation so far unless it is asked for increments, and the terms before its end', async () => {
  for (const [isIncremental, contents] of [
    [false, ['Eins.', 'Eins. Zwei.']],
    [true, ['Eins.', ' Zwei.', '']],
  ] as const) {
    const parameters = { ...body.parameters, incremental_output: isIncremental };
    const text = await bytesOf(await room().ask({ ...body, parameters }, { 'x-dashscope-sse': 'enable' }));
    const said = Array.from(text.matchAll(/^data:(\{.*)$/gm), ([, data]) => JSON.parse(data ?? '').output);
    const last = said.map(({ choices }) => choices[0].message.content);
    if (isIncremental) assert.deepEqual(last, [...contents]);
    else assert.deepEqual([last[0], last.at(-1)], [...contents]);
    assert.equal(said.at(-1).finish_reason, 'stop');
    assert.equal(said[0].finish_reason, 'null');
    assert.match(
      text,
      /:parley-terms 1\/2\n\nid:\d+\nevent:result\n:HTTP_STATUS\/200\ndata:[^\n]*"finish_reason":"stop"[^\n]*\n\n$/,
    );
  }
});

test('what comes quickly is gathered in a cumulative stream, and in no other', async () => {
  const { needs } = createTranslating();
  const translate: typeof needs.translate = async (wish) => {
    const { batches, ...told } = await needs.translate(wish, { interface: 'native' });
    return { ...told, batches: threefold(batches) };
  };
  const clock = { ...needs.clock, monotonic: () => 0 };
  const ask = askOf(textGeneration({ ...needs, translate, clock }));
  for (const [incremental_output, texts] of [
    [false, ['Eins.']],
    [true, ['Eins.', 'Eins.', 'Eins.']],
  ] as const) {
    const parameters = { ...body.parameters, incremental_output };
    const text = await bytesOf(await ask({ ...body, parameters }, { 'x-dashscope-sse': 'enable' }));
    const said = Array.from(text.matchAll(/"content":"([^"]*)"/g), ([, content]) => content ?? '');
    assert.deepEqual(
      said.slice(
        0,
        said.findIndex((each) => each.includes('Zwei')),
      ),
      [...texts],
    );
  }
});

/** Each delta three times. */
async function* threefold<Events extends readonly { readonly type: string }[]>(
  batches: AsyncIterable<Events>,
): AsyncGenerator<Events | readonly Events[number][]> {
  for await (const batch of batches) {
    yield batch;
    const deltas = batch.filter(({ type }) => type === 'block-delta');
    if (deltas.length > 0) yield* [deltas, deltas];
  }
}

test('an output format is no reason to refuse', async () => {
  const { ask, heard } = room();
  await ask({ ...body, parameters: { ...body.parameters, response_format: { type: 'json_object' } } });
  assert.notEqual(heard.wish?.request.outputFormat, undefined);
});

test('a second message is refused by its place', async () => {
  const messages = [{ role: 'system', content: 'Be brief.' }, ...input.messages];
  await assert.rejects(room().ask({ ...body, input: { messages } }), { param: 'input.messages' });
  await assert.rejects(room().ask({ ...body, parameters: { translation_options: { target_lang: 'x' } } }), {
    param: 'parameters.translation_options.target_lang',
  });
  await room().ask({ ...body, input: { prompt: 'One. Two.' } });
});
