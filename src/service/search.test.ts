import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import { createFakeEngines, type FakeEngines } from './__fixtures__/fake-engines.ts';
import { createService, type Service } from './service.ts';

// Tests of web search over HTTP, with a fake engine and a search service on this machine.

const quiet = () => undefined;
const LOG = { info: quiet, warn: quiet, error: quiet };
const DECISION = JSON.stringify({ message: 'asks for facts', search: 'Orsay opening' });
const QUESTION = 'When did the Orsay open?';

const FOUND_ANSWER = 'In 1986.';
/** Answer of the model to every prompt but those for decisions. */
let answerText = FOUND_ANSWER;

/** Answers the decisions about the search as their prompts demand, and every other prompt with `answerText`. */
const getDefaultAnswer = (prompt: string): readonly string[] => {
  if (prompt.includes('You sort messages')) return [DECISION];
  return [prompt.includes('say what is next') ? '{"next": "answer"}' : answerText];
};

interface TestService {
  readonly service: Service;
  readonly fake: FakeEngines;
  readonly stop: () => Promise<void>;
  readonly post: (path: string, body: object, headers?: Readonly<Record<string, string>>) => Promise<Response>;
  readonly get: (path: string) => Promise<Response>;
}

async function startTestService(settings: string): Promise<TestService> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-search-'));
  writeFileSync(join(folder, 'parley.yaml'), settings);
  const fake = createFakeEngines({ contextTokens: 4_000, getDefaultAnswer });
  const env = { PARLEY_DATA: folder, PARLEY_PORT: '0', PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' };
  const service = await createService(loadConfig({ env }).config, { log: LOG, engines: fake.engines });
  const [address] = await service.listen();
  const { secret } = await service.keys.create({
    region: 'cn-beijing',
    workspace: 'primary',
    name: '',
    expiresAt: undefined,
  });
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  return {
    service,
    fake,
    stop: async () => {
      await service.close();
      rmSync(folder, { recursive: true });
    },
    post: (path, body, more = {}) =>
      fetch(`${address?.url}${path}`, {
        method: 'POST',
        headers: { ...headers, ...more },
        body: JSON.stringify({ model: 'svc-plus', ...body }),
      }),
    get: (path) => fetch(`${address?.url}${path}`, { headers }),
  };
}

const user = (content: string) => ({ role: 'user', content });
const NATIVE = '/api/v1/services/aigc/text-generation/generation';
const STREAMED = { 'x-dashscope-sse': 'enable' };

/** One request with web search in each protocol, by path, and the field that the header names without a search. */
const DIALECTS = {
  'chat completions': {
    path: '/v1/chat/completions',
    body: { messages: [user(QUESTION)], enable_search: true },
    field: 'enable_search',
  },
  'native generation': {
    path: NATIVE,
    body: { input: { messages: [user(QUESTION)] }, parameters: { enable_search: true, result_format: 'message' } },
    field: 'parameters.enable_search',
  },
  responses: {
    path: '/v1/responses',
    body: { input: QUESTION, tools: [{ type: 'web_search' }] },
    field: 'tools[0]',
  },
  messages: {
    path: '/apps/anthropic/v1/messages',
    body: {
      max_tokens: 50,
      messages: [user(QUESTION)],
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
    },
    field: 'tools[0]',
  },
} as const;

describe('a search that finds something or nothing', () => {
  let web: Server;
  let results: readonly object[] = [];
  let isFailing = false;
  /** Set: the search service answers when the test says so. */
  let pending: PromiseWithResolvers<void> | undefined;
  let parley: TestService;

  before(async () => {
    const answer = async (response: ServerResponse): Promise<void> => {
      await pending?.promise;
      response
        .writeHead(isFailing ? 500 : 200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ results }));
    };
    web = createServer((_request, response) => void answer(response));
    web.listen(0, '127.0.0.1');
    await once(web, 'listening');
    const bound = web.address();
    const port = typeof bound === 'object' && bound ? bound.port : 0;
    parley = await startTestService(
      `search: {providers: [{type: searxng, url: 'http://127.0.0.1:${port}'}]}\nlimits: {keepAliveMs: 100}\n`,
    );
  });
  after(async () => {
    await parley.stop();
    web.close();
    web.closeAllConnections();
  });
  beforeEach(() => {
    results = [];
    isFailing = false;
    answerText = FOUND_ANSWER;
    pending = undefined;
    parley.fake.prompts.length = 0;
  });

  for (const [name, { path, body }] of Object.entries(DIALECTS)) {
    test(`reports in the header of an unstreamed ${name} answer that nothing was found`, async () => {
      const response = await parley.post(path, body);
      const text = await response.text();
      assert.equal(response.status, 200, text);
      assert.equal(response.headers.get('x-parley-search'), 'found-nothing');
      assert.equal(response.headers.get('x-parley-ignored'), null);
      assert.ok(text.includes('In 1986.'));
    });
  }

  test('reports the same for a forced search', async () => {
    const { path, body } = DIALECTS['chat completions'];
    const response = await parley.post(path, { ...body, search_options: { forced_search: true } });
    await response.text();
    assert.equal(response.headers.get('x-parley-search'), 'found-nothing');
  });

  test('lists no sources in the messages of chat completions when nothing was found', async () => {
    const { path, body } = DIALECTS['chat completions'];
    assert.match(
      await (await parley.post(path, body)).text(),
      /"content":"In 1986\.".*"refusal":null,"annotations":\[\]/,
    );
    const text = await (await parley.post(path, { ...body, stream: true })).text();
    assert.equal(text.match(/"role":"assistant","annotations":\[\]/g)?.length, 1, text);
    assert.equal(text.match(/annotations/g)?.length, 1, text);
  });

  test('sends no such header when something was found', async () => {
    results = [{ url: 'https://example.com/orsay', title: 'Orsay', content: 'The Orsay opened in 1986.' }];
    const { path, body } = DIALECTS['chat completions'];
    const response = await parley.post(path, body);
    assert.doesNotMatch(await response.text(), /annotations/);
    assert.equal(response.headers.get('x-parley-search'), null);
  });

  for (const [name, { path, body }] of Object.entries(DIALECTS)) {
    const headers = name === 'native generation' ? STREAMED : undefined;

    test(`reports in the header of an unstreamed ${name} answer that the sources do not contain it`, async () => {
      results = [{ url: 'https://example.com/louvre', title: 'Louvre', content: 'The Louvre is a museum.' }];
      answerText = 'The search results do not say when it opened.';
      const response = await parley.post(path, body);
      const text = await response.text();
      assert.equal(response.headers.get('x-parley-search'), 'unanswered', text);
    });

    test(`reports the same before the end of a ${name} stream`, async () => {
      results = [{ url: 'https://example.com/louvre', title: 'Louvre', content: 'The Louvre is a museum.' }];
      answerText = 'The search results do not say when it opened.';
      const text = await (await parley.post(path, { ...body, stream: true }, headers)).text();
      const comment = text.indexOf(':parley-search unanswered\n\n');
      assert.ok(comment > text.indexOf('search results do not') && comment > 0, text);
    });

    test(`reports in a comment of a ${name} stream that nothing was found`, async () => {
      const text = await (await parley.post(path, { ...body, stream: true }, headers)).text();
      const comment = text.indexOf(':parley-search found-nothing\n\n');
      assert.ok(comment >= 0 && comment < text.indexOf('In 1986.'), text);
    });
  }

  test('tells a search that failed from one that found nothing', async () => {
    isFailing = true;
    const { path, body } = DIALECTS['chat completions'];
    const response = await parley.post(path, body);
    assert.equal(response.status, 200, await response.text());
    assert.equal(response.headers.get('x-parley-search'), 'failed');
    const text = await (await parley.post(path, { ...body, stream: true })).text();
    assert.match(text, /^:parley-search failed$/m);
  });

  for (const [name, { path, body }, headers] of [
    ['chat completions', DIALECTS['chat completions'], {}],
    ['native generation', DIALECTS['native generation'], STREAMED],
    ['responses', DIALECTS.responses, {}],
    ['messages', DIALECTS.messages, {}],
  ] as const) {
    test(`sends the head and keep-alives of a ${name} stream while the model plans the search`, async () => {
      parley.fake.enqueue([{ type: 'hang' }]);
      const abort = new AbortController();
      const response = await fetchStream(parley, path, { ...body, stream: true }, { headers, signal: abort.signal });
      assert.equal(response.status, 200);
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      while (!/keep-alive|event: ping/.test(text))
        text += (await reader?.read())?.value ?? assert.fail('the stream ended');
      abort.abort();
      await reader?.cancel().catch(() => undefined);
    });
  }

  test('sends keep-alives while it searches', async () => {
    pending = Promise.withResolvers();
    const { path, body } = DIALECTS['chat completions'];
    const response = await parley.post(path, { ...body, stream: true });
    assert.equal(response.status, 200);
    pending.resolve();
    const text = await response.text();
    assert.match(text, /keep-alive[\s\S]*In 1986\./);
  });

  test('still refuses with its own status what the engine refuses before it accepts the request', async () => {
    const { path, body } = DIALECTS['chat completions'];
    const long = { ...body, stream: true, messages: [user('word '.repeat(5_000))] };
    const response = await parley.post(path, long);
    assert.equal(response.status, 400);
    assert.match(await response.text(), /Range of input length/);
  });

  test("plans no search in the middle of the caller's own tool loop", async () => {
    const call = { id: 'c1', type: 'function', function: { name: 'clock', arguments: '{}' } };
    const response = await parley.post('/v1/chat/completions', {
      enable_search: true,
      tools: [{ type: 'function', function: { name: 'clock', description: 'd', parameters: { type: 'object' } } }],
      messages: [
        user('What time is it?'),
        { role: 'assistant', content: '', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c1', content: '12:00' },
      ],
    });
    assert.equal(response.status, 200);
    assert.equal(parley.fake.prompts.length, 1);
    assert.ok(!(parley.fake.prompts[0] ?? '').includes('found nothing'));
  });
});

describe('a service in which nothing can be searched', () => {
  let parley: TestService;
  before(async () => {
    parley = await startTestService('limits: {keepAliveMs: 100}\n');
  });
  after(() => parley.stop());
  beforeEach(() => {
    parley.fake.prompts.length = 0;
  });

  for (const [name, { path, body, field }] of Object.entries(DIALECTS)) {
    test(`answers ${name} in one run and names the search in x-parley-ignored`, async () => {
      const response = await parley.post(path, body);
      const text = await response.text();
      assert.equal(response.status, 200, text);
      assert.ok(text.includes('In 1986.'));
      const ignored = decodeURIComponent(response.headers.get('x-parley-ignored') ?? '');
      assert.ok(ignored.split(',').includes(field), ignored);
      assert.equal(parley.fake.prompts.length, 1);
      assert.ok(!(parley.fake.prompts[0] ?? '').includes('found nothing'));
    });
  }

  test('does the same for a forced search', async () => {
    const { path, body } = DIALECTS['chat completions'];
    const response = await parley.post(path, { ...body, search_options: { forced_search: true } });
    assert.equal(response.status, 200);
    assert.match(response.headers.get('x-parley-ignored') ?? '', /enable_search/);
    assert.equal(parley.fake.prompts.length, 1);
  });

  test('says so in the report, with the command that adds documents', async () => {
    const { tools, interfaces } = await parley.service.buildReport();
    assert.match(tools.find(({ tool }) => tool === 'web search')?.detail ?? '', /parley index add FOLDER/);
    const research = interfaces.find(({ name }) => name === 'Deep research');
    if (research?.state === 'on') assert.match(research.note ?? '', /index is empty.*parley index add FOLDER/);
  });
});

const fetchStream = async (
  { post }: TestService,
  path: string,
  body: object,
  { headers, signal }: { readonly headers: Readonly<Record<string, string>>; readonly signal: AbortSignal },
): Promise<Response> => {
  const response = await post(path, body, headers);
  signal.addEventListener('abort', () => void response.body?.cancel().catch(() => undefined));
  return response;
};
