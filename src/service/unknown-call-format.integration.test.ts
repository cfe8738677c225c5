import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  ACCEPTED_EVENT,
  createLetterEvent,
  LAST_EVENT,
  startFakeLlamaServer,
  writeStream,
} from '../engines/completion/__fixtures__/fake-llama-server.ts';
import { registerTestService } from './__fixtures__/register-test-service.ts';

/** A template that describes tools, and writes calls in a way that rendering does not show. */
const TEMPLATE =
  '{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.content or "" }}' +
  '{% for c in m.tool_calls or [] %}{{ c.function.name | upper }}{% endfor %}{% endfor %}';

/** A template that writes calls in tags. */
const TAGS_TEMPLATE =
  '{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.content or "" }}' +
  '{% for c in m.tool_calls or [] %}<tool_call>\n{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n</tool_call>' +
  '{% endfor %}{% endfor %}';

/** Starts a server whose model has this template and answers with this text. */
const startServer = async (template: string, text: string) =>
  await startFakeLlamaServer(
    (response) => void writeStream(response, ACCEPTED_EVENT, createLetterEvent(text, 1), LAST_EVENT).end(),
    {
      '/props': (response) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end(
          JSON.stringify({
            default_generation_settings: { n_ctx: 8_192 },
            total_slots: 2,
            chat_template: template,
            bos_token: '',
            eos_token: '<|im_end|>',
          }),
        ),
    },
  );

const server = await startServer(TEMPLATE, 'A');
const tagsServer = await startServer(TAGS_TEMPLATE, '<tool_call>get_weather: Ulm');
after(() => server.close());
after(() => tagsServer.close());

const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } } };
const FUNCTION = { name: 'get_weather', description: 'x', parameters: PARAMETERS };
const messages = [{ role: 'user', content: 'Hi' }];
const REQUESTS = {
  '/v1/chat/completions': { messages, tools: [{ type: 'function', function: FUNCTION }] },
  '/v1/responses': { input: 'Hi', tools: [{ type: 'function', ...FUNCTION }] },
  '/v1/messages': { messages, max_tokens: 10, tools: [{ name: 'get_weather', input_schema: PARAMETERS }] },
} as const;

describe('a model whose template writes calls in an unknown format', () => {
  const warnings: object[] = [];
  const ignore = (): void => undefined;
  const { getUrl, getSecret } = registerTestService({
    config: `regions: {cn-beijing: {port: 0}}\nmodels: {far: {url: '${server.url}', server: llama-server, input: prompt}, tags: {url: '${tagsServer.url}', server: llama-server, input: prompt}}\n`,
    log: { info: ignore, warn: (message, fields) => void warnings.push({ message, ...fields }), error: ignore },
  });
  let key = '';
  before(async () => {
    key = await getSecret();
  });

  const listIgnored = async (path: string, body: object): Promise<string[]> => {
    const response = await fetch(getUrl() + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 200, await response.text());
    return decodeURIComponent(response.headers.get('x-parley-ignored') ?? '').split(',');
  };

  for (const [path, body] of Object.entries(REQUESTS)) {
    test(`is reported by the responses of ${path}`, async () => {
      assert.deepEqual(await listIgnored(path, { model: 'far', ...body }), ['tools(unknown_format)']);
    });
    test(`differs from a call that cannot be parsed, which ${path} reports`, async () => {
      assert.deepEqual(await listIgnored(path, { model: 'tags', ...body }), ['tools(unparsed_call)']);
    });
  }

  test('is reported by the log when it is loaded, once, and by /ready', async () => {
    const warned = warnings.filter((fields) => 'model' in fields && fields.model === 'far');
    assert.deepEqual(warned, [
      { message: 'tool call format of chat template unknown; calls may arrive as text', model: 'far' },
    ]);
    const { models } = (await (await fetch(`${getUrl()}/ready`)).json()) as {
      models: readonly { model: string; warning?: string }[];
    };
    assert.match(models.find(({ model }) => model === 'far')?.warning ?? '', /calls may arrive as text/);
  });
});
