import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { until } from '../until.ts';
import { REQUEST_MS_MAX } from './harness.ts';
import { getCapabilitySkipReason } from '../capabilities.ts';
import { SERVER_TOOL_CAPABILITIES, type ServerToolsParley } from './server-tools-parley.ts';

const MODEL = 'svc-plus';
const SENTENCE = 'Ada Lovelace wrote the first program in 1843.';
const ANSWER = `${SENTENCE} Enough said.`;
const QUESTION = 'Who wrote the first program?';

const skip = getCapabilitySkipReason(...SERVER_TOOL_CAPABILITIES);

/**
 * Declares the tests of server tools with the clients for Node.
 *
 * @param start Starts the Parley, or returns one that others use too.
 */
export function describeServerToolsForNode(start: () => Promise<ServerToolsParley>): void {
  describe('server tools with the clients for Node', { skip }, () => {
    let parley: ServerToolsParley;
    let openai: OpenAI;
    let anthropic: Anthropic;
    before(async () => {
      parley = await start();
      openai = new OpenAI({ baseURL: parley.baseUrl, apiKey: parley.key, maxRetries: 0, timeout: REQUEST_MS_MAX });
      anthropic = new Anthropic({
        baseURL: `${parley.address}/apps/anthropic`,
        apiKey: parley.key,
        authToken: null,
        maxRetries: 0,
        timeout: REQUEST_MS_MAX,
      });
    });
    after(() => parley?.stop());

    describe('chat completions', () => {
      const messages = [{ role: 'user' as const, content: QUESTION }];
      /** Fields that the types of the client do not have. */
      const searching: object = { enable_search: true, search_options: { enable_source: true, forced_search: true } };

      test('contain text only, and name the ignored field', async () => {
        const { data, response } = await openai.chat.completions
          .create({ model: MODEL, messages, ...searching })
          .withResponse();
        assert.equal(data.choices[0]?.message.content, ANSWER);
        assert.equal(data.choices[0]?.message.tool_calls, null);
        assert.equal(response.headers.get('x-parley-ignored'), 'search_options.enable_source');
      });

      test('search without a question only when forced', async () => {
        const talk = [{ role: 'user' as const, content: 'Hello, first program!' }];
        const lastPrompt = async (fields: object): Promise<string> => {
          await openai.chat.completions.create({ model: MODEL, messages: talk, ...fields });
          return parley.prompts.at(-1) ?? '';
        };
        assert.ok((await lastPrompt(searching)).includes(parley.ada.passage));
        assert.ok(!(await lastPrompt({ enable_search: true })).includes('search-results'));
      });

      test('stream an answer that used a program', async () => {
        const options: object = { enable_code_interpreter: true, enable_thinking: true };
        const stream = openai.chat.completions.stream({ model: MODEL, messages, ...options });
        const { choices } = await stream.finalChatCompletion();
        assert.equal(choices[0]?.message.content, ANSWER);
        assert.equal(choices[0]?.finish_reason, 'stop');
      });

      test('are refused programs without a stream', async () => {
        const options: object = { enable_code_interpreter: true, enable_thinking: true };
        await assert.rejects(
          openai.chat.completions.create({ model: MODEL, messages, ...options }),
          /This model only support stream mode/,
        );
      });
    });

    describe('responses', () => {
      const REQUEST = {
        model: MODEL,
        input: QUESTION,
        tools: [
          { type: 'web_search' as const },
          { type: 'code_interpreter' as const, container: { type: 'auto' as const } },
        ],
      };

      test('have items of searches and programs, and citations', async () => {
        const response = await openai.responses.create({
          ...REQUEST,
          include: ['web_search_call.action.sources', 'code_interpreter_call.outputs'],
        });
        assert.equal(response.output_text, ANSWER);
        const [search, code, message] = response.output;
        assert.ok(search?.type === 'web_search_call' && search.action.type === 'search');
        assert.deepEqual([search.status, search.action.query], ['completed', 'first program']);
        assert.deepEqual(search.action.sources, [{ type: 'url', url: parley.ada.url }]);
        assert.ok(code?.type === 'code_interpreter_call');
        assert.deepEqual(code.outputs, [{ type: 'logs', logs: '2' }]);
        assert.ok(message?.type === 'message' && message.content[0]?.type === 'output_text');
        const [citation] = message.content[0].annotations;
        assert.ok(citation?.type === 'url_citation');
        const { start_index: from, end_index: to, url, title } = citation;
        assert.deepEqual([ANSWER.slice(from, to), url, title], [SENTENCE, parley.ada.url, parley.ada.title]);
      });

      test('stream the same, which the helper of the client collects', async () => {
        const stream = openai.responses.stream(REQUEST);
        const types = new Map<string, number>();
        let code = '';
        let text = '';
        for await (const event of stream) {
          if (event.type === 'response.output_text.delta') text += event.delta;
          if (event.type === 'response.output_text.annotation.added') assert.equal(text, SENTENCE);
          types.set(event.type, (types.get(event.type) ?? 0) + 1);
          if (event.type === 'response.code_interpreter_call_code.delta') code += event.delta;
        }
        const response = await stream.finalResponse();
        assert.equal(response.output_text, ANSWER);
        assert.deepEqual(
          response.output.map(({ type }) => type),
          ['web_search_call', 'code_interpreter_call', 'message'],
        );
        assert.equal(code, 'print(1 + 1)');
        for (const type of [
          'response.web_search_call.in_progress',
          'response.web_search_call.searching',
          'response.web_search_call.completed',
          'response.code_interpreter_call.in_progress',
          'response.code_interpreter_call.interpreting',
          'response.code_interpreter_call.completed',
          'response.output_text.annotation.added',
        ])
          assert.equal(types.get(type), 1, type);
      });

      test('are stored, retrieved and continued, by id or by their items', async () => {
        const first = await openai.responses.create(REQUEST);
        const again = await openai.responses.retrieve(first.id);
        assert.deepEqual(again.output, first.output);
        await openai.responses.create({ ...REQUEST, previous_response_id: first.id, input: 'And then?' });
        const chained = parley.prompts.at(-1) ?? '';
        // A program sends back what it received. The types of requests and responses differ slightly.
        const items: OpenAI.Responses.ResponseInput = JSON.parse(JSON.stringify(first.output));
        await openai.responses.create({
          ...REQUEST,
          input: [{ role: 'user', content: QUESTION }, ...items, { role: 'user', content: 'And then?' }],
        });
        assert.equal(parley.prompts.at(-1), chained);
        assert.deepEqual(findCallNames(chained), ['web_search', 'code_interpreter']);
      });

      test('are created in the background with the same items, polled or streamed', async () => {
        const { id } = await openai.responses.create({ ...REQUEST, background: true, stream: false });
        const response = await until('the response is completed', { timeoutMs: REQUEST_MS_MAX }, async () => {
          const current = await openai.responses.retrieve(id);
          return current.status === 'completed' ? current : undefined;
        });
        assert.deepEqual(
          response.output.map(({ type }) => type),
          ['web_search_call', 'code_interpreter_call', 'message'],
        );
        const stream = await openai.responses.create({ ...REQUEST, background: true, stream: true });
        const types: string[] = [];
        let createdId = '';
        for await (const event of stream) {
          types.push(event.type);
          if (event.type === 'response.created') createdId = event.response.id;
        }
        assert.ok(types.includes('response.web_search_call.searching'));
        const reread: string[] = [];
        for await (const event of await openai.responses.retrieve(createdId, { stream: true })) reread.push(event.type);
        assert.deepEqual(reread, types);
      });

      test('append their items to their conversation', async () => {
        const conversation = await openai.conversations.create();
        await openai.responses.create({ ...REQUEST, conversation: conversation.id });
        const items = await openai.conversations.items.list(conversation.id, { order: 'asc' });
        assert.deepEqual(
          items.data.map(({ type }) => type),
          ['message', 'web_search_call', 'code_interpreter_call', 'message'],
        );
      });

      test('force a search, and are refused with an extractor alone', async () => {
        const input = 'Hello, first program!';
        const forced = await openai.responses.create({
          ...REQUEST,
          input,
          tool_choice: { type: 'web_search_preview' },
        });
        assert.ok(forced.output.some(({ type }) => type === 'web_search_call'));
        const free = await openai.responses.create({ ...REQUEST, input });
        assert.ok(!free.output.some(({ type }) => type === 'web_search_call'));
        const extractor: OpenAI.Responses.ResponseCreateParamsNonStreaming = {
          ...REQUEST,
          tools: [JSON.parse('{"type":"web_extractor"}')],
        };
        await assert.rejects(openai.responses.create(extractor), /web_extractor needs web_search/);
      });
    });

    describe('messages', () => {
      const REQUEST = {
        model: MODEL,
        max_tokens: 64,
        messages: [{ role: 'user' as const, content: QUESTION }],
        tools: [
          { type: 'web_search_20250305' as const, name: 'web_search' as const, max_uses: 3 },
          { type: 'web_fetch_20250910' as const, name: 'web_fetch' as const },
          { type: 'code_execution_20250522' as const, name: 'code_execution' as const },
        ],
      };
      const TYPES = [
        'server_tool_use',
        'web_search_tool_result',
        'server_tool_use',
        'web_fetch_tool_result',
        'server_tool_use',
        'code_execution_tool_result',
        'text',
        'text',
      ];

      test('have blocks of uses and results, and citations', async () => {
        const message = await anthropic.messages.create(REQUEST);
        assert.deepEqual(
          message.content.map(({ type }) => type),
          TYPES,
        );
        const [use, found, , page, , program, cited, rest] = message.content;
        assert.ok(use?.type === 'server_tool_use' && found?.type === 'web_search_tool_result');
        assert.deepEqual([use.name, use.input, found.tool_use_id], ['web_search', { query: 'first program' }, use.id]);
        assert.ok(Array.isArray(found.content));
        assert.deepEqual([found.content[0]?.url, found.content[0]?.page_age], [parley.ada.url, 'April 30, 2026']);
        assert.ok(page?.type === 'web_fetch_tool_result' && page.content.type === 'web_fetch_result');
        assert.equal(page.content.content.title, parley.ada.title);
        assert.ok(program?.type === 'code_execution_tool_result' && program.content.type === 'code_execution_result');
        assert.deepEqual([program.content.stdout, program.content.return_code], ['2\n', 0]);
        assert.ok(cited?.type === 'text' && rest?.type === 'text');
        assert.deepEqual([cited.text, rest.text], [SENTENCE, ' Enough said.']);
        const [citation] = cited.citations ?? [];
        assert.ok(citation?.type === 'web_search_result_location');
        assert.deepEqual([citation.url, citation.cited_text], [parley.ada.url, parley.ada.passage]);
        assert.deepEqual(message.usage.server_tool_use, { web_search_requests: 1, web_fetch_requests: 1 });
        assert.match(message.container?.id ?? '', /^\w+/);
        assert.ok(Date.parse(message.container?.expires_at ?? '') > Date.now());
      });

      test('stream the same, which the helper of the client collects', async () => {
        const stream = anthropic.messages.stream(REQUEST);
        const cited: string[] = [];
        stream.on('citation', (citation) => cited.push(citation.cited_text));
        const streamed = await stream.finalMessage();
        const whole = await anthropic.messages.create(REQUEST);
        assert.deepEqual(cited, [parley.ada.passage]);
        assert.deepEqual(normalizeCallIds(streamed.content), normalizeCallIds(whole.content));
        assert.deepEqual(streamed.usage.server_tool_use, whole.usage.server_tool_use);
        assert.ok(streamed.container?.id);
      });

      test('continue from all returned blocks', async () => {
        const { content } = await anthropic.messages.create(REQUEST);
        const { response } = await anthropic.messages
          .create({
            ...REQUEST,
            messages: [...REQUEST.messages, { role: 'assistant', content }, { role: 'user', content: 'And then?' }],
          })
          .withResponse();
        assert.equal(response.headers.get('x-parley-ignored'), null);
        const prompt = parley.prompts.at(-1) ?? '';
        assert.deepEqual(findCallNames(prompt), ['web_search', 'web_fetch', 'code_execution']);
        const [, toolResponse = ''] = /<tool_response>\n([^]*?)<\/tool_response>/.exec(prompt) ?? [];
        assert.ok(toolResponse.includes(parley.ada.passage), 'the prompt lacks the text of the search result');
      });

      test('search without a question only when forced', async () => {
        const talk = { ...REQUEST, messages: [{ role: 'user' as const, content: 'Hello, first program!' }] };
        const tools = REQUEST.tools.slice(0, 1);
        const forced = await anthropic.messages.create({
          ...talk,
          tools,
          tool_choice: { type: 'tool', name: 'web_search' },
        });
        assert.equal(forced.content[0]?.type, 'server_tool_use');
        const free = await anthropic.messages.create({ ...talk, tools });
        assert.deepEqual(
          free.content.map(({ type }) => type),
          ['text'],
        );
      });

      test('read no page of a blocked host', async () => {
        const [search, fetch] = REQUEST.tools;
        assert.ok(search && fetch?.name === 'web_fetch');
        const tools = [search, { ...fetch, blocked_domains: ['127.0.0.1'] }];
        const { content } = await anthropic.messages.create({ ...REQUEST, tools });
        assert.deepEqual(
          content.map(({ type }) => type),
          ['server_tool_use', 'web_search_tool_result', 'text', 'text'],
        );
      });

      test('count the tokens of the code tool, and name it as ignored when it is not offered', async () => {
        const weatherTool = { name: 'weather', input_schema: { type: 'object' as const, properties: {} } };
        const { messages } = REQUEST;
        const count = async (more: Partial<Anthropic.MessageCountTokensParams>) =>
          await anthropic.messages.countTokens({ model: MODEL, messages, ...more }).withResponse();
        const program = REQUEST.tools.slice(2);
        const [withoutTools, withCodeTool] = [await count({}), await count({ tools: program })];
        assert.ok(withCodeTool.data.input_tokens > withoutTools.data.input_tokens + 10);
        const { data, response } = await count({
          tools: [weatherTool, ...program],
          tool_choice: { type: 'tool', name: weatherTool.name },
        });
        assert.equal(decodeURIComponent(response.headers.get('x-parley-ignored') ?? ''), 'tools[1]');
        assert.ok(data.input_tokens < withCodeTool.data.input_tokens + 10);
      });

      test('are refused with an unsupported tool version', async () => {
        await assert.rejects(
          anthropic.messages.create({
            ...REQUEST,
            tools: [{ type: 'code_execution_20250825', name: 'code_execution' }],
          }),
          /use code_execution_20250522/,
        );
      });
    });
  });
}

/** Makes the call ids of two answers equal. */
const normalizeCallIds = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll(/srvtoolu_\w+/g, 'srvtoolu'));

/** Returns the names of the tool calls in a prompt, in order, without the example call of the tool description. */
const findCallNames = (prompt: string): string[] =>
  [...prompt.matchAll(/<tool_call>\n\{"name": ?"(\w+)"/g)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'NAME');
