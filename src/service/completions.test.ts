import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { registerTestService } from './__fixtures__/register-test-service.ts';

const PATH = '/compatible-mode/v1/completions';

type Fields = Readonly<Record<string, unknown>>;

interface Body {
  readonly id: string;
  readonly choices: readonly {
    readonly text: string;
    readonly index: number;
    readonly finish_reason: string | null;
    readonly logprobs: { readonly tokens: readonly string[] } | null;
  }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
  readonly error?: { readonly message: string; readonly param: string | null; readonly code: string };
  readonly request_id?: string;
}

const createScript = (...steps: readonly unknown[]): string => `script:${JSON.stringify(steps)}`;

describe('completions endpoint of the complete service', () => {
  const { getUrl, getSecret } = registerTestService({
    config: 'regions: {cn-beijing: {port: 0}, ap-southeast-1: {port: 0}}\n',
  });

  const post = async (fields: Fields, path = PATH) =>
    await fetch(getUrl() + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${await getSecret()}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc-coder-turbo', ...fields }),
    });
  const postForBody = async (fields: Fields) => {
    const response = await post(fields);
    const body = (await response.json()) as Body;
    return { status: response.status, headers: response.headers, body, texts: body.choices?.map(({ text }) => text) };
  };
  const expectRefusal = async (fields: Fields, param: string, code = 'invalid_parameter_error') => {
    const { status, body } = await postForBody(fields);
    assert.equal(status, 400, JSON.stringify(body));
    assert.equal(body.error?.param, param);
    assert.equal(body.error.code, code);
    return body.error.message;
  };

  test('continues a prompt', async () => {
    const { body, texts } = await postForBody({ prompt: createScript('Hel', 'lo') });
    assert.deepEqual(texts, ['Hello']);
    assert.match(body.id, /^cmpl-[0-9a-f-]{36}$/);
    assert.equal(body.choices[0]?.finish_reason, 'stop');
  });

  test('answers on the short path, and under an alias of the model', async () => {
    const response = await post({ model: 'qwen2.5-coder-32b-instruct', prompt: createScript('a') }, '/v1/completions');
    const body = (await response.json()) as Body & { model: string };
    assert.equal(body.model, 'qwen2.5-coder-32b-instruct');
    assert.equal(body.choices[0]?.text, 'a');
  });

  test('refuses a region that does not offer it, and names one that does', async () => {
    const region = 'ap-southeast-1';
    const response = await fetch(getUrl(region) + PATH, {
      method: 'POST',
      headers: { authorization: `Bearer ${await getSecret({ region })}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc-coder-turbo', prompt: createScript('a') }),
    });
    const { error } = (await response.json()) as Body;
    assert.equal(response.status, 403);
    assert.match(error?.message ?? '', /offered in .*Beijing/i);
  });

  test('fills in the middle, by template or suffix, and stops when the output repeats the suffix', async () => {
    const suffix = '\n    return total\n';
    const prefix = createScript('x = 1', `\n    return`, ' total\n', { hang: true });
    const byField = await postForBody({ prompt: prefix, suffix });
    const byTemplate = await postForBody({ prompt: `<|fim_prefix|>${prefix}<|fim_suffix|>${suffix}<|fim_middle|>` });
    assert.deepEqual(byField.texts, ['x = 1']);
    assert.deepEqual(byTemplate.texts, ['x = 1']);
    assert.equal(byField.body.usage.prompt_tokens, byTemplate.body.usage.prompt_tokens);
  });

  test('answers every prompt of a list n times, in order, each after its own echo', async () => {
    const { body } = await postForBody({ prompt: [createScript('a'), createScript('b')], n: 2, echo: true });
    assert.deepEqual(
      body.choices.map(({ text, index }) => [text, index]),
      [
        [`${createScript('a')}a`, 0],
        [`${createScript('a')}a`, 1],
        [`${createScript('b')}b`, 2],
        [`${createScript('b')}b`, 3],
      ],
    );
    assert.equal(body.usage.completion_tokens, 4);
  });

  test('streams chunks with the same id, then the usage, then the end mark', async () => {
    const response = await post({
      prompt: [createScript('a', 'b'), createScript('c')],
      echo: true,
      stream: true,
      stream_options: { include_usage: true },
    });
    assert.equal(response.headers.get('content-type'), 'text/event-stream;charset=UTF-8');
    const text = await response.text();
    const lines = text.split('\n\n').filter((line) => line !== '');
    assert.equal(lines.pop(), 'data: [DONE]');
    const chunks = lines.map((line) => JSON.parse(line.slice('data: '.length)) as Body);
    assert.equal(new Set(chunks.map(({ id }) => id)).size, 1);
    const getTexts = (index: number) =>
      chunks.flatMap(({ choices }) => choices.filter((choice) => choice.index === index).map((choice) => choice.text));
    assert.deepEqual(getTexts(0), [createScript('a', 'b'), 'a', 'b', '']);
    assert.deepEqual(getTexts(1), [createScript('c'), 'c', '']);
    assert.equal(chunks.at(-1)?.usage.completion_tokens, 3);
  });

  test('ends a failed stream with an error and without the end mark', async () => {
    const response = await post({ prompt: createScript('a', { delayMs: 5 }, { fail: 'engine-failed' }), stream: true });
    const text = await response.text();
    assert.match(text, /"error":\{"message":"An internal error/);
    assert.doesNotMatch(text, /\[DONE\]/);
  });

  test('names ignored parameters', async () => {
    const { headers } = await postForBody({
      prompt: createScript('a'),
      temperature: 0,
      top_p: 0.5,
      user: 'me',
      unknown_field: 1,
      max_tokens: 100_000,
    });
    assert.equal(headers.get('x-parley-ignored'), 'max_tokens(clamped),top_p,unknown_field');
  });

  test('returns log probabilities of an echoed prompt and of each generated token, the end token included', async () => {
    const prompt = createScript('b c', 'd');
    const { headers, body } = await postForBody({ prompt, echo: true, logprobs: 1, max_tokens: 2 });
    assert.equal(headers.get('x-parley-ignored'), null);
    const [choice] = body.choices;
    assert.equal(choice?.text, `${prompt}b cd`);
    const [word, rest] = prompt.split(' ').map((piece, at) => (at === 0 ? piece : ` ${piece}`));
    assert.deepEqual(choice.logprobs, {
      tokens: [word, rest, 'b c', 'd'],
      token_logprobs: [null, -0.25, -0.25, -0.25],
      top_logprobs: [null, { [rest ?? '']: -0.25 }, { 'b c': -0.25 }, { d: -0.25 }],
      text_offset: [0, word?.length, prompt.length, prompt.length + 3],
    });
    const ended = await postForBody({ prompt, echo: true, logprobs: 0 });
    assert.deepEqual(ended.body.choices[0]?.logprobs?.tokens.slice(2), ['b c', 'd', '<|endoftext|>']);
    const unechoed = await postForBody({ prompt, logprobs: 0 });
    assert.deepEqual(unechoed.body.choices[0]?.logprobs?.tokens, ['b c', 'd']);
  });

  test('scores several prompts of token ids, and generates nothing with max_tokens 0', async () => {
    const fields = { prompt: [[11, 12, 13], [14]], echo: true, logprobs: 1 };
    const { body } = await postForBody({ ...fields, max_tokens: 0 });
    assert.deepEqual(
      body.choices.map(({ text, index, finish_reason, logprobs }) => [text, index, finish_reason, logprobs]),
      [
        [
          '<11><12><13>',
          0,
          'length',
          {
            tokens: ['<11>', '<12>', '<13>'],
            token_logprobs: [null, -0.25, -0.25],
            top_logprobs: [null, { '<12>': -0.25 }, { '<13>': -0.25 }],
            text_offset: [0, 4, 8],
          },
        ],
        ['<14>', 1, 'length', { tokens: ['<14>'], token_logprobs: [null], top_logprobs: [null], text_offset: [0] }],
      ],
    );
    assert.deepEqual([body.usage.prompt_tokens, body.usage.completion_tokens], [4, 0]);
    const one = await postForBody({ ...fields, max_tokens: 1 });
    assert.deepEqual(
      one.body.choices.map(({ logprobs }) => logprobs?.tokens.length),
      [4, 2],
    );
  });

  test('echoes a prompt alone with max_tokens 0, and requires echo for it', async () => {
    const { body, texts } = await postForBody({ prompt: 'a b', echo: true, max_tokens: 0, n: 2 });
    assert.deepEqual(texts, ['a b', 'a b']);
    assert.equal(body.choices[0]?.logprobs, null);
    assert.deepEqual([body.usage.prompt_tokens, body.usage.completion_tokens], [2, 0]);
    const message = await expectRefusal({ prompt: 'a b', max_tokens: 0 }, 'max_tokens');
    assert.match(message, /^Range of max_tokens should be \[1, \d+\] \(max_tokens: 0\)$/);
  });

  test('refuses token ids that the model does not have, with their range', async () => {
    const fields = { echo: true, logprobs: 1, max_tokens: 0 };
    const message = await expectRefusal({ prompt: [1, 65_536], ...fields }, 'prompt');
    assert.equal(message, 'prompt must have token ids from 0 to 65535, got 65536');
    await expectRefusal({ prompt: [[1], [70_000]], ...fields }, 'prompt');
    assert.match(await expectRefusal({ prompt: [1], echo: true }, 'echo'), /^echo requires a text prompt, or logprobs/);
  });

  test('refuses prompts that it cannot complete, naming the field', async () => {
    assert.match(await expectRefusal({ prompt: '', suffix: 'x' }, 'prompt'), /^Generating content that precedes/);
    assert.match(await expectRefusal({ prompt: '<|fim_prefix|>x' }, 'prompt'), /starts like a template/);
    assert.match(await expectRefusal({ prompt: 'a', temperature: 2 }, 'temperature'), /^Temperature should be in/);
    assert.match(await expectRefusal({ prompt: 'a '.repeat(40_000) }, 'prompt'), /^Range of input length should be/);
  });

  test('refuses a model without this interface', async () => {
    const { status, body } = await postForBody({ model: 'svc-plus', prompt: 'a' });
    assert.equal(status, 404);
    assert.equal(body.error?.code, 'model_not_supported');
    assert.match(body.error.message, /Models with the requested interface: svc-coder-turbo\.$/);
  });
});
