import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RegionId } from '../../../core/region.ts';
import {
  createCaller,
  FAKE_REPORT,
  readStream,
  createFakeTranslation,
} from '../../fields/__fixtures__/fake-translation.ts';
import { createChatCompletionsEndpoint } from './endpoint.ts';

const messages = [{ role: 'user', content: 'One. Two.' }];
const options = { source_lang: 'auto', target_lang: 'german', terms: [{ source: 'one', target: 'Eins' }] };
const body = { model: 'svc-mt-plus', messages, translation_options: options };

const setUp = (
  entry: Parameters<typeof createFakeTranslation>[0] = {},
  { region, strict }: { region?: RegionId; strict?: boolean } = {},
) => {
  const { deps, lastCall } = createFakeTranslation(entry);
  return { lastCall, ask: createCaller(createChatCompletionsEndpoint({ ...deps, strict: strict ?? false }), region) };
};

test('passes decoded options to the translation and returns a chat completion with a terms header', async () => {
  const { ask, lastCall } = setUp();
  const reply = await ask({ ...body, temperature: 0.2, max_tokens: 5, seed: 3, top_k: 4, other: 1 });
  assert.equal(reply.type, 'json');
  assert.deepEqual(reply.headers, {
    'x-parley-ignored': 'stop,other',
    'x-parley-terms': '1/2',
    'x-parley-translation': FAKE_REPORT,
  });
  const parsedReply = JSON.parse(JSON.stringify(reply.body));
  assert.equal(parsedReply.choices[0].message.content, 'Eins. Zwei.');
  assert.equal(parsedReply.usage.total_tokens, 11);
  assert.partialDeepStrictEqual(lastCall, { wanted: { interface: 'chat' }, target: { requestedName: body.model } });
  assert.deepEqual(lastCall.request?.options, {
    target: { name: 'German', code: 'de', hasSpaces: true },
    terms: [{ source: 'one', target: 'Eins' }],
    memory: [],
  });
  assert.deepEqual(lastCall.request?.request.sampling, { temperature: 0.2, topK: 4, seed: 3 });
  assert.equal(lastCall.request?.request.maxTokens, 5);
});

test('streams increments, and a comment with the terms before the last chunks', async () => {
  const text = await readStream(await setUp().ask({ ...body, stream: true, stream_options: { include_usage: true } }));
  assert.deepEqual(contents(text), ['', 'Eins.', ' Zwei.', '']);
  const lines = text.split('\n\n');
  assert.deepEqual(lines.slice(3, 5), [':parley-terms 1/2', `:parley-translation ${FAKE_REPORT}`]);
  assert.match(lines[5] ?? '', /"finish_reason":"stop"/);
  assert.match(lines[6] ?? '', /"total_tokens":11/);
});

test('streams the whole translation so far in each chunk for a cumulative model', async () => {
  const text = await readStream(await setUp({ cumulative: true }).ask({ ...body, stream: true }));
  assert.deepEqual(contents(text), ['', 'Eins.', 'Eins. Zwei.', '']);
});

test('uses the message as prompt without options', async () => {
  const { ask, lastCall } = setUp();
  await ask({ model: 'svc-mt-plus', messages });
  assert.equal(lastCall.request?.options, undefined);
});

test('accepts exactly one user message, also as a list of texts', async () => {
  const { ask, lastCall } = setUp();
  await ask({ ...body, messages: [{ role: 'user', content: [{ type: 'text', text: 'One.' }] }] });
  assert.deepEqual(lastCall.request?.request.messages[0]?.content, [{ type: 'text', text: 'One.' }]);
  for (const wrong of [
    [{ role: 'system', content: 'Be brief.' }, ...messages],
    [...messages, { role: 'assistant', content: 'Eins.' }, ...messages],
    [{ role: 'assistant', content: 'Eins.' }],
  ])
    await assert.rejects(ask({ ...body, messages: wrong }), {
      kind: 'invalid-request',
      param: 'messages',
      message: /exactly one message, of role user/,
    });
  await assert.rejects(ask({ ...body, n: 2 }), {
    param: 'n',
    message: 'Range of n should be [1, 1] for a translation model (n: 2)',
  });
});

test('rejects an unknown language and suggests similar ones; the smallest model knows fewer', async () => {
  const withLanguages = (source_lang: unknown, target_lang?: unknown) => ({
    ...body,
    translation_options: { source_lang, target_lang },
  });
  const { ask } = setUp();
  for (const [source, target, param, message] of [
    ['en', 'Frensh', 'target_lang', 'Current language settings are not supported! Did you mean French?'],
    ['Klingon', 'fr', 'source_lang', 'Current language settings are not supported!'],
    ['en', 'auto', 'target_lang', 'Current language settings are not supported!'],
    ['en', undefined, 'target_lang', 'Required parameter(translation_options.target_lang)'],
    ['en', 7, 'target_lang', 'translation_options.target_lang must be a string'],
  ] as const)
    await assert.rejects(ask(withLanguages(source, target)), (error: Error & { param?: string }) => {
      assert.equal(error.param, `translation_options.${param}`);
      assert.ok(error.message.startsWith(message), error.message);
      return true;
    });
  await ask(withLanguages('English', 'cy'));
  await assert.rejects(setUp({ languages: 'lite' }).ask(withLanguages('English', 'cy')), { kind: 'invalid-request' });
});

test('rejects a misspelled term field, and in strict mode an unknown option', async () => {
  const wrong = { ...options, terms: [{ source: 'one' }] };
  await assert.rejects(setUp().ask({ ...body, translation_options: wrong }), {
    param: 'translation_options.terms[0].target',
  });
  await assert.rejects(setUp({}, { strict: true }).ask({ ...body, translation_options: { ...options, style: 'x' } }), {
    param: 'translation_options.style',
  });
});

test('rejects a term without target text by its path', async () => {
  const terms = [...options.terms, { source: 'two', target: ' ' }];
  await assert.rejects(setUp().ask({ ...body, translation_options: { ...options, terms } }), {
    kind: 'invalid-request',
    param: 'translation_options.terms[1].target',
  });
});

test('accepts an output format', async () => {
  const { ask, lastCall } = setUp();
  const schema = { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } };
  for (const response_format of [{ type: 'json_object' }, schema]) {
    await ask({ ...body, response_format });
    assert.notEqual(lastCall.request?.request.outputFormat, undefined);
  }
});

test('rejects a region that does not offer translation', async () => {
  await assert.rejects(setUp({}, { region: 'eu-central-1' }).ask(body), {
    kind: 'forbidden',
    message:
      /Translation is not offered in Germany \(Frankfurt\).*offered in China \(Beijing\).*Singapore.*US \(Virginia\)/,
  });
});

const contents = (text: string): string[] =>
  Array.from(text.matchAll(/^data: (\{.*)$/gm), ([, data]) => JSON.parse(data ?? ''))
    .filter(({ choices }) => choices.length > 0)
    .map(({ choices }) => choices[0].delta.content);
