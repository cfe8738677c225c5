import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RegionId } from '../../../core/region.ts';
import { askOf, bytesOf, createTranslating } from '../../fields/__fixtures__/translating.ts';
import { chatCompletions } from './endpoint.ts';

const messages = [{ role: 'user', content: 'One. Two.' }];
const options = { source_lang: 'auto', target_lang: 'german', terms: [{ source: 'one', target: 'Eins' }] };
const body = { model: 'svc-mt-plus', messages, translation_options: options };

const room = (
  entry: Parameters<typeof createTranslating>[0] = {},
  { region, strict }: { region?: RegionId; strict?: boolean } = {},
) => {
  const { needs, heard } = createTranslating(entry);
  return { heard, ask: askOf(chatCompletions({ ...needs, strict: strict ?? false }), region) };
};

test('a translation model gets the options in our words, and the answer is a chat completion with its terms in a header', async () => {
  const { ask, heard } = room();
  const reply = await ask({ ...body, temperature: 0.2, max_tokens: 5, seed: 3, top_k: 4, other: 1 });
  assert.equal(reply.type, 'json');
  assert.deepEqual(reply.headers, { 'x-parley-ignored': 'stop,other', 'x-parley-terms': '1/2' });
  const said = JSON.parse(JSON.stringify(reply.body));
  assert.equal(said.choices[0].message.content, 'Eins. Zwei.');
  assert.equal(said.usage.total_tokens, 11);
  assert.equal(heard.on, 'chat');
  assert.deepEqual(heard.wish?.options, {
    target: { name: 'German', code: 'de', hasSpaces: true },
    terms: [{ source: 'one', target: 'Eins' }],
    memory: [],
  });
  assert.deepEqual(heard.wish?.request.sampling, { temperature: 0.2, topK: 4, seed: 3 });
  assert.equal(heard.wish?.request.maxTokens, 5);
});

test('a stream has increments, and says of the terms in a comment before its last chunks', async () => {
  const text = await bytesOf(await room().ask({ ...body, stream: true, stream_options: { include_usage: true } }));
  assert.deepEqual(contents(text), ['', 'Eins.', ' Zwei.', '']);
  const lines = text.split('\n\n');
  assert.equal(lines.indexOf(':parley-terms 1/2'), 3);
  assert.match(lines[4] ?? '', /"finish_reason":"stop"/);
  assert.match(lines[5] ?? '', /"total_tokens":11/);
});

test('a stream of a model whose entry says cumulative has the translation so far in each chunk', async () => {
  const text = await bytesOf(await room({ cumulative: true }).ask({ ...body, stream: true }));
  assert.deepEqual(contents(text), ['', 'Eins.', 'Eins. Zwei.', '']);
});

test('without options the message is the prompt', async () => {
  const { ask, heard } = room();
  await ask({ model: 'svc-mt-plus', messages });
  assert.equal(heard.wish?.options, undefined);
});

test('a model takes one message of the user, a list of texts too, and no other', async () => {
  const { ask, heard } = room();
  await ask({ ...body, messages: [{ role: 'user', content: [{ type: 'text', text: 'One.' }] }] });
  assert.deepEqual(heard.wish?.request.messages[0]?.content, [{ type: 'text', text: 'One.' }]);
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

test('a language that is not there is refused with near ones; the smallest model has fewer', async () => {
  const withLanguages = (source_lang: unknown, target_lang?: unknown) => ({
    ...body,
    translation_options: { source_lang, target_lang },
  });
  const { ask } = room();
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
  await assert.rejects(room({ languages: 'lite' }).ask(withLanguages('English', 'cy')), { kind: 'invalid-request' });
});

test('a misspelt term is refused, and in a strict service a field that nobody knows', async () => {
  const wrong = { ...options, terms: [{ source: 'one' }] };
  await assert.rejects(room().ask({ ...body, translation_options: wrong }), {
    param: 'translation_options.terms[0].target',
  });
  await assert.rejects(room({}, { strict: true }).ask({ ...body, translation_options: { ...options, style: 'x' } }), {
    param: 'translation_options.style',
  });
});

test('a term without a wording is refused by its place', async () => {
  const terms = [...options.terms, { source: 'two', target: ' ' }];
  await assert.rejects(room().ask({ ...body, translation_options: { ...options, terms } }), {
    kind: 'invalid-request',
    param: 'translation_options.terms[1].target',
  });
});

test('an output format is no reason to refuse', async () => {
  const { ask, heard } = room();
  const schema = { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } };
  for (const response_format of [{ type: 'json_object' }, schema]) {
    await ask({ ...body, response_format });
    assert.notEqual(heard.wish?.request.outputFormat, undefined);
  }
});

test('a region that is not offered is refused by the model', async () => {
  await assert.rejects(room({}, { region: 'eu-central-1' }).ask(body), {
    kind: 'forbidden',
    message:
      /Translation is not offered in Germany \(Frankfurt\).*offered in China \(Beijing\).*Singapore.*US \(Virginia\)/,
  });
});

const contents = (text: string): string[] =>
  Array.from(text.matchAll(/^data: (\{.*)$/gm), ([, data]) => JSON.parse(data ?? ''))
    .filter(({ choices }) => choices.length > 0)
    .map(({ choices }) => choices[0].delta.content);
