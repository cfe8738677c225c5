import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { parseTestGbnf } from '../../../src/grammar/__fixtures__/test-gbnf-parser.ts';

/** Fake server with the interfaces of vLLM, SGLang and OpenAI. Its tokens are bytes, and its answers are `word0 word1 …`. */
export interface FakeInferenceServer {
  readonly url: string;
  /** Returns the number of answers in progress. */
  countBusy(): number;
  /** Closes all connections abruptly. */
  closeConnections(): void;
  close(): Promise<void>;
}

export const FAKE_CONTEXT_TOKENS = 8_192;
export const FAKE_SLOTS = 3;

const SPECIAL = ['<|im_start|>', '<|im_end|>', '<|endoftext|>'];
const FIRST_SPECIAL = 256;
const END_TOKEN = FIRST_SPECIAL + SPECIAL.indexOf('<|endoftext|>');

const TEMPLATE =
  "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";

/** Like the tokenizers of real servers, it recognizes special tokens in any text. */
function encode(text: string): number[] {
  return text.split(/(<\|im_start\|>|<\|im_end\|>|<\|endoftext\|>)/).flatMap((piece) => {
    const special = SPECIAL.indexOf(piece);
    return special < 0 ? [...Buffer.from(piece)] : [FIRST_SPECIAL + special];
  });
}

const decode = (tokens: readonly number[]): string =>
  tokens.map((token) => SPECIAL[token - FIRST_SPECIAL] ?? String.fromCharCode(token)).join('');

const ANSWER_BYTES = Buffer.from(Array.from({ length: 1_500 }, (_, at) => `word${at} `).join(''));

/** Counts the answer tokens that the prompt already contains. The answer continues there, as in a later phase. */
function countAnswerTokens(prompt: readonly number[]): number {
  return prompt.length - prompt.lastIndexOf(FIRST_SPECIAL) - 'assistant\n'.length - 1;
}

type Body = Readonly<Record<string, unknown>>;

/** Why an answer ends with a token; undefined before its end. */
type FinishReason = 'length' | 'stop' | undefined;

interface FakeAnswer {
  readonly offset: number;
  /** Grammar whose text replaces the fixed answer. */
  readonly grammar?: string | undefined;
  readonly tokensMax: number;
  /** Creates the event of one token. */
  readonly createEvent: (token: number, count: number, end: FinishReason) => object;
  readonly lastFrames: readonly unknown[];
}

export async function startFakeInferenceServer(): Promise<FakeInferenceServer> {
  let busy = 0;
  const waiters: (() => void)[] = [];

  const writeAnswer = async (response: ServerResponse, fakeAnswer: FakeAnswer): Promise<void> => {
    const { offset, grammar, tokensMax, createEvent, lastFrames } = fakeAnswer;
    const grammarBytes = grammar === undefined ? undefined : [...Buffer.from(parseTestGbnf(grammar).generateText(() => 0)), END_TOKEN];
    const tokenAt = (at: number): number => (grammarBytes ? grammarBytes[at] : ANSWER_BYTES[(offset + at) % ANSWER_BYTES.length]) ?? 0;
    const length = Math.min(tokensMax, grammarBytes?.length ?? tokensMax);
    while (busy >= FAKE_SLOTS && !response.destroyed) {
      await new Promise<void>((resolve) => {
        waiters.push(resolve);
        response.on('close', resolve);
      });
    }
    if (response.destroyed) return;
    busy++;
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    response.flushHeaders();
    for (let count = 1; count <= length && !response.destroyed; count++) {
      const token = tokenAt(count - 1);
      const end: FinishReason = token === END_TOKEN ? 'stop' : count === length ? 'length' : undefined;
      const hasCapacity = response.write(`data: ${JSON.stringify(createEvent(token, count, end))}\n\n`);
      if (!hasCapacity) await Promise.race([once(response, 'drain'), once(response, 'close')]);
      if (count % 4 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    for (const last of lastFrames) response.write(`data: ${typeof last === 'string' ? last : JSON.stringify(last)}\n\n`);
    response.end();
    busy--;
    for (const next of waiters.splice(0)) next();
  };

  const routes: Record<string, (body: Body, response: ServerResponse) => Promise<void> | object> = {
    '/health': () => ({}),
    '/v1/models': () => ({ data: [{ id: 'toy', max_model_len: FAKE_CONTEXT_TOKENS }] }),
    '/tokenizer_info': () => ({
      chat_template: TEMPLATE,
      eos_token: '<|endoftext|>',
      added_tokens_decoder: Object.fromEntries(SPECIAL.map((content, at) => [FIRST_SPECIAL + at, content])),
    }),
    '/server_info': () => ({ incremental_streaming_output: false }),
    '/tokenize': ({ prompt }) => ({ tokens: encode(String(prompt)) }),
    '/detokenize': ({ tokens }) => ({ prompt: decode(tokens as number[]) }),
    '/v1/completions': (body, response) => {
      const prompt = body['prompt'] as number[];
      const topCount = body['logprobs'] as number | undefined;
      const { grammar } = (body['structured_outputs'] ?? {}) as { grammar?: string };
      return writeAnswer(response, {
        offset: countAnswerTokens(prompt),
        grammar,
        // As vLLM does, it generates one token even for 0 and echoes the prompt alone then.
        tokensMax: Math.max(1, Number(body['max_tokens'])),
        createEvent: (token, count, end) => ({
          choices: [
            {
              index: 0,
              text: end === 'stop' || body['max_tokens'] === 0 ? '' : decode([token]),
              token_ids: [token],
              logprobs:
                topCount === undefined
                  ? null
                  : createCompletionLogprobs(topCount, {
                      prompt: body['echo'] === true && count === 1 ? prompt : [],
                      tokens: body['max_tokens'] === 0 ? [] : [token],
                    }),
              finish_reason: end ?? null,
              stop_reason: null,
            },
          ],
        }),
        lastFrames: [{ choices: [], usage: { prompt_tokens: prompt.length } }, '[DONE]'],
      });
    },
    '/generate': (body, response) => {
      const prompt = body['input_ids'] as number[];
      const { max_new_tokens: tokensMax, ebnf: grammar } = body['sampling_params'] as {
        max_new_tokens: number;
        ebnf?: string;
      };
      let text = '';
      const ids: number[] = [];
      const topCount = body['return_logprob'] === true ? Number(body['top_logprobs_num']) : undefined;
      return writeAnswer(response, {
        offset: countAnswerTokens(prompt),
        grammar,
        tokensMax: Math.max(1, tokensMax),
        createEvent: (token, index, end) => {
          const count = Math.min(index, tokensMax);
          if (end !== 'stop' && count > 0) text += decode([token]);
          if (count > 0) ids.push(token);
          const reasons = { length: { type: 'length', length: tokensMax }, stop: { type: 'stop', matched: token } };
          const reason = end ? reasons[end] : null;
          const counts = { prompt_tokens: prompt.length, completion_tokens: count, cached_tokens: 0 };
          const logprobs =
            topCount === undefined
              ? {}
              : createGenerateLogprobs(topCount, { prompt: body['logprob_start_len'] === 0 ? prompt : [], ids });
          return { text, output_ids: ids, meta_info: { id: 'x', finish_reason: reason, ...counts, ...logprobs } };
        },
        lastFrames: ['[DONE]'],
      });
    },
    '/v1/chat/completions': (body, response) => writeAnswer(response, createChatAnswer(body)),
  };

  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    response.on('error', () => undefined);
    void respond(request, response);
  });
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body: Body = request.method === 'POST' ? JSON.parse(await readText(request)) : {};
    const route = routes[request.url ?? ''];
    const prompt = countPromptTokens(body);
    const biasError = findBiasError(body);
    const errorStatus = !route ? 404 : prompt >= FAKE_CONTEXT_TOKENS || biasError ? 400 : undefined;
    if (errorStatus !== undefined || !route) {
      const message = biasError ?? `This model's maximum context length is ${FAKE_CONTEXT_TOKENS} tokens, you asked for ${prompt}.`;
      return void response.writeHead(errorStatus ?? 404).end(JSON.stringify({ error: { message } }));
    }
    const result = route(body, response);
    if (result instanceof Promise) await result;
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(result));
  };
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    countBusy: () => busy,
    closeConnections: () => server.closeAllConnections(),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function countPromptTokens({ prompt, input_ids: ids, messages }: Body): number {
  const tokens = prompt ?? ids;
  if (Array.isArray(tokens)) return tokens.length;
  return Array.isArray(messages) ? encode(JSON.stringify(messages)).length : 0;
}

/** Returns the error of SGLang for a logit bias on a token outside the vocabulary. */
function findBiasError({ sampling_params: params }: Body): string | undefined {
  const { logit_bias: bias = {} } = (params ?? {}) as { logit_bias?: object };
  const last = FIRST_SPECIAL + SPECIAL.length - 1;
  const unknownId = Object.keys(bias).find((id) => Number(id) > last);
  return unknownId && `logit_bias must has keys in [0, ${last}], got ${unknownId}.`;
}

/** Log probabilities as in `/v1/completions`. The first token of a prompt has none. */
const createCompletionLogprobs = (
  top: number,
  { prompt, tokens }: { readonly prompt: readonly number[]; readonly tokens: readonly number[] },
) => ({
  tokens: [...prompt, ...tokens].map((token) => decode([token])),
  token_logprobs: [...prompt.map((_, at) => (at === 0 ? null : -1.5)), ...tokens.map(() => -0.5)],
  top_logprobs: [...prompt, ...tokens].map((token, at) =>
    prompt.length > 0 && at === 0
      ? null
      : Object.fromEntries(['x', 'y', 'z', decode([token])].slice(-top).map((text, rank) => [text, -1 - rank])),
  ),
});

/** Log probabilities as in `/generate`: of the whole prompt, and of all tokens so far. */
const createGenerateLogprobs = (
  top: number,
  { prompt, ids }: { readonly prompt: readonly number[]; readonly ids: readonly number[] },
) => {
  const createEntry = (token: number, logprob: number | null) => [logprob, token, decode([token])];
  const createTop = (token: number) => ids.concat(token, 65, 66).slice(-top).map((each, rank) => createEntry(each, -1 - rank));
  return {
    input_token_logprobs: prompt.map((token, at) => createEntry(token, at === 0 ? null : -1.5)),
    input_top_logprobs: prompt.map((token, at) => (at === 0 ? null : createTop(token))),
    output_token_logprobs: ids.map((token) => createEntry(token, -0.5)),
    output_top_logprobs: ids.map(createTop),
  };
};

/** Chats report their stop string and the index of each choice. */
function createChatAnswer(body: Body): FakeAnswer {
  const choices = Number(body['n'] ?? 1);
  const stops = (body['stop'] ?? []) as readonly string[];
  const requestedTokens = Number(body['max_tokens'] ?? body['max_completion_tokens'] ?? FAKE_CONTEXT_TOKENS);
  const text = decode([...ANSWER_BYTES.subarray(0, requestedTokens)]);
  const stop = stops.find((each) => text.includes(each));
  const length = stop === undefined ? requestedTokens : text.indexOf(stop);
  const top = body['top_logprobs'] as number | undefined;
  const entry = (token: string, logprob: number) => ({ token, logprob, bytes: [...Buffer.from(token)] });
  const createLogprobs = (token: string) => ({
    content: [
      { ...entry(token, -0.5), top_logprobs: ['x', 'y', 'z'].slice(0, top ?? 0).map((other, at) => entry(other, -1 - at)) },
    ],
  });
  return {
    offset: 0,
    tokensMax: length,
    createEvent: (token, _, end) => ({
      choices: Array.from({ length: choices }, (__, index) => ({
        index,
        delta: { content: decode([token]) },
        ...(body['logprobs'] === true ? { logprobs: createLogprobs(decode([token])) } : {}),
        finish_reason: !end ? null : stop === undefined ? 'length' : 'stop',
        ...(end && stop !== undefined ? { stop_reason: stop } : {}),
      })),
    }),
    lastFrames: [{ choices: [], usage: { prompt_tokens: countPromptTokens(body), completion_tokens: choices * length } }, '[DONE]'],
  };
}
