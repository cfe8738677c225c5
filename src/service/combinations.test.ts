import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import { createSseParser } from '../lib/sse.ts';
import { createFakeEngines } from './__fixtures__/fake-engines.ts';
import { createService, type Service } from './service.ts';

// One table of the combinations of thinking, tools, response_format and streaming, over HTTP in every protocol.

const quiet = () => undefined;
const THOUGHT = 'Rome it is.';
const JSON_ANSWER = '{"city":"Rome"}';
const PLAIN_ANSWER = 'In JSON terms: Rome.';
/** A call; the prompt of a forced one already contains its start. */
const CALL_START = '<tool_call>\n{"name": "weather", "arguments": ';
const CALL_END = `${JSON_ANSWER}}\n</tool_call>`;
const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const QUESTION = 'Which city? Answer in JSON.';

interface Combination {
  readonly thinking: boolean;
  readonly tools: 'none' | 'offered' | 'forced';
  readonly format: 'text' | 'json_object' | 'json_schema';
  readonly stream: boolean;
}

/** Content of an answer, whatever its protocol. */
interface Answer {
  readonly thought: string;
  readonly text: string;
  readonly call: string;
}

type Fields = Readonly<Record<string, unknown>>;

interface WireMessage {
  readonly reasoning_content?: string | null;
  readonly content?: string | null;
  readonly tool_calls?: readonly { readonly function: { readonly arguments: string } }[] | null;
}

/** Fields of items, blocks and deltas that these tests read; each type has some of them. */
interface WireItem {
  readonly type: string;
  readonly summary: readonly { readonly text: string }[];
  readonly content: readonly { readonly text: string }[];
  readonly arguments: string;
  readonly thinking: string;
  readonly text: string;
  readonly input: object;
  readonly partial_json: string;
}

/** Fields of responses and stream events that these tests read; each protocol has some of them. */
interface WireBody {
  readonly choices: readonly { readonly message: WireMessage; readonly delta: WireMessage }[];
  readonly output: { readonly choices: readonly { readonly message: WireMessage }[] } & readonly WireItem[];
  readonly content: readonly WireItem[];
  readonly type: string;
  readonly delta: string & WireItem;
}

interface Dialect {
  readonly path: string;
  readonly headers?: (combination: Combination) => Readonly<Record<string, string>>;
  /** Undefined: the protocol has no field for the combination. */
  readonly encode: (combination: Combination) => Fields | undefined;
  readonly decode: (body: WireBody) => Answer;
  readonly decodeStream: (events: readonly WireBody[]) => Answer;
}

const FUNCTION = { name: 'weather', description: 'Returns the weather.', parameters: SCHEMA };

const encodeFormat = (format: Combination['format']): Fields =>
  format === 'json_schema'
    ? { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: SCHEMA } } }
    : format === 'json_object'
      ? { response_format: { type: 'json_object' } }
      : {};

const encodeChatFields = ({ thinking, tools, format }: Combination): Fields => ({
  ...(thinking ? { enable_thinking: true } : {}),
  ...(tools === 'none' ? {} : { tools: [{ type: 'function', function: FUNCTION }] }),
  ...(tools === 'forced' ? { tool_choice: { type: 'function', function: { name: 'weather' } } } : {}),
  ...encodeFormat(format),
});

const decodeMessage = (message: WireMessage | undefined): Answer => ({
  thought: message?.reasoning_content ?? '',
  text: message?.content ?? '',
  call: (message?.tool_calls ?? []).map((call) => call.function.arguments).join(''),
});

const joinAnswers = (answers: readonly Answer[]): Answer => ({
  thought: answers.map(({ thought }) => thought).join(''),
  text: answers.map(({ text }) => text).join(''),
  call: answers.map(({ call }) => call).join(''),
});

const ofType = <Item extends { readonly type: string }>(items: readonly Item[], type: string): readonly Item[] =>
  items.filter((item) => item.type === type);
const joinField = <Item>(items: readonly Item[], read: (item: Item) => string): string => items.map(read).join('');

const DIALECTS: Readonly<Record<string, Dialect>> = {
  'chat completions': {
    path: '/v1/chat/completions',
    encode: (combination) => ({
      messages: [{ role: 'user', content: QUESTION }],
      stream: combination.stream,
      ...encodeChatFields(combination),
    }),
    decode: ({ choices }) => decodeMessage(choices[0]?.message),
    decodeStream: (events) =>
      joinAnswers(events.flatMap(({ choices }) => choices.map(({ delta }) => decodeMessage(delta)))),
  },
  'native generation': {
    path: '/api/v1/services/aigc/text-generation/generation',
    headers: ({ stream }) => (stream ? { 'x-dashscope-sse': 'enable' } : {}),
    encode: (combination) => ({
      input: { messages: [{ role: 'user', content: QUESTION }] },
      parameters: {
        result_format: 'message',
        incremental_output: combination.stream,
        ...encodeChatFields(combination),
      },
    }),
    decode: ({ output }) => decodeMessage(output.choices[0]?.message),
    decodeStream: (events) => joinAnswers(events.map(({ output }) => decodeMessage(output.choices[0]?.message))),
  },
  responses: {
    path: '/v1/responses',
    encode: ({ thinking, tools, format, stream }) => ({
      input: QUESTION,
      stream,
      ...(thinking ? { enable_thinking: true } : {}),
      ...(tools === 'none' ? {} : { tools: [{ type: 'function', ...FUNCTION }] }),
      ...(tools === 'forced' ? { tool_choice: { type: 'function', name: 'weather' } } : {}),
      ...(format === 'text'
        ? {}
        : {
            text: {
              format: format === 'json_object' ? { type: format } : { type: format, name: 'answer', schema: SCHEMA },
            },
          }),
    }),
    decode: ({ output }) => ({
      thought: joinField(ofType(output, 'reasoning'), (item) => item.summary.map(({ text }) => text).join('')),
      text: joinField(ofType(output, 'message'), (item) => item.content.map(({ text }) => text).join('')),
      call: joinField(ofType(output, 'function_call'), (item) => item.arguments),
    }),
    decodeStream: (events) => ({
      thought: joinField(ofType(events, 'response.reasoning_summary_text.delta'), ({ delta }) => delta),
      text: joinField(ofType(events, 'response.output_text.delta'), ({ delta }) => delta),
      call: joinField(ofType(events, 'response.function_call_arguments.delta'), ({ delta }) => delta),
    }),
  },
  messages: {
    path: '/apps/anthropic/v1/messages',
    encode: ({ thinking, tools, format, stream }) =>
      format === 'json_object'
        ? undefined
        : {
            max_tokens: 100,
            messages: [{ role: 'user', content: QUESTION }],
            stream,
            ...(thinking ? { thinking: { type: 'adaptive' } } : {}),
            ...(tools === 'none' ? {} : { tools: [{ name: 'weather', description: 'd', input_schema: SCHEMA }] }),
            ...(tools === 'forced' ? { tool_choice: { type: 'tool', name: 'weather' } } : {}),
            ...(format === 'text' ? {} : { output_config: { format: { type: 'json_schema', schema: SCHEMA } } }),
          },
    decode: ({ content }) => ({
      thought: joinField(ofType(content, 'thinking'), ({ thinking }) => thinking),
      text: joinField(ofType(content, 'text'), ({ text }) => text),
      call: joinField(ofType(content, 'tool_use'), ({ input }) => JSON.stringify(input)),
    }),
    decodeStream: (events) => {
      const deltas = ofType(events, 'content_block_delta').map(({ delta }) => delta);
      return {
        thought: joinField(ofType(deltas, 'thinking_delta'), ({ thinking }) => thinking),
        text: joinField(ofType(deltas, 'text_delta'), ({ text }) => text),
        call: joinField(ofType(deltas, 'input_json_delta'), ({ partial_json }) => partial_json),
      };
    },
  },
};

const COMBINATIONS: readonly Combination[] = [false, true].flatMap((thinking) =>
  (['none', 'offered', 'forced'] as const).flatMap((tools) =>
    (['text', 'json_object', 'json_schema'] as const).flatMap((format) =>
      [false, true].map((stream) => ({ thinking, tools, format, stream })),
    ),
  ),
);

/** Returns the error of a combination that the platform does not allow. */
function findExpectedError({ thinking, tools, format }: Combination): RegExp | undefined {
  if (thinking && tools === 'forced') return /tool_choice cannot force a (?:function|tool)/;
  if (thinking && format === 'json_object') return /Json mode response is not supported when enable_thinking is true/;
  return undefined;
}

const parseEvents = (text: string): readonly WireBody[] =>
  createSseParser({ sizeMax: 1_000_000 })
    .push(text)
    .flatMap(({ data }) => (data === '[DONE]' ? [] : [JSON.parse(data) as WireBody]));

const getName = ({ thinking, tools, format, stream }: Combination): string =>
  [`thinking ${thinking ? 'on' : 'off'}`, `tools ${tools}`, format, stream ? 'streamed' : 'unstreamed'].join(', ');

describe('combinations of thinking, tools, response_format and streaming', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-combinations-'));
  let output = '';
  const { engines } = createFakeEngines({ contextTokens: 4_000, grammar: true, getDefaultAnswer: () => [output] });
  let service: Service;
  let url = '';
  let key = '';

  before(async () => {
    const env = { PARLEY_DATA: folder, PARLEY_PORT: '0', PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' };
    const log = { info: quiet, warn: quiet, error: quiet };
    service = await createService(loadConfig({ env }).config, { log, engines });
    url = (await service.listen())[0]?.url ?? assert.fail();
    const created = await service.keys.create({
      region: 'cn-beijing',
      workspace: 'primary',
      name: '',
      expiresAt: undefined,
    });
    key = created.secret;
  });
  after(async () => {
    await service.close();
    rmSync(folder, { recursive: true });
  });

  for (const [name, { path, headers, encode, decode, decodeStream }] of Object.entries(DIALECTS))
    for (const combination of COMBINATIONS) {
      const fields = encode(combination);
      if (!fields) continue;
      test(`${name}: ${getName(combination)}`, async () => {
        const { thinking, tools, format, stream } = combination;
        const answers = {
          none: format === 'text' ? PLAIN_ANSWER : JSON_ANSWER,
          offered: CALL_START + CALL_END,
          forced: CALL_END,
        };
        output = `${thinking ? `${THOUGHT}</think>` : ''}${answers[tools]}`;
        const response = await fetch(`${url}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers?.(combination) },
          body: JSON.stringify({ model: 'svc-plus', ...fields }),
        });
        const text = await response.text();
        const expectedError = findExpectedError(combination);
        if (expectedError) {
          assert.equal(response.status, 400, text);
          assert.match(text, expectedError);
          return;
        }
        assert.equal(response.status, 200, text);
        assert.equal(response.headers.get('x-parley-ignored'), null);
        const {
          thought,
          text: answer,
          call,
        } = stream ? decodeStream(parseEvents(text)) : decode(JSON.parse(text) as WireBody);
        assert.equal(thought, thinking ? THOUGHT : '');
        assert.equal(answer, tools === 'none' ? answers.none : '');
        assert.deepEqual(call === '' ? undefined : JSON.parse(call), tools === 'none' ? undefined : { city: 'Rome' });
      });
    }
});
