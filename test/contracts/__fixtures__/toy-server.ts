import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { readGbnf } from '../../../src/grammar/__fixtures__/gbnf.ts';

/** A server that speaks like others, on a model that costs nothing: its tokens are bytes, and it counts words for ever. */
export interface ToyServer {
  readonly url: string;
  /** Answers that it is working on. */
  busy(): number;
  /** Breaks all connections. */
  strike(): void;
  close(): Promise<void>;
}

export const TOY_CONTEXT_TOKENS = 8_192;
export const TOY_SLOTS = 3;

const SPECIAL = ['<|im_start|>', '<|im_end|>', '<|endoftext|>'];
const FIRST_SPECIAL = 256;
const END_TOKEN = FIRST_SPECIAL + SPECIAL.indexOf('<|endoftext|>');

const TEMPLATE =
  "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";

/** As tokenizers elsewhere, it finds special tokens in any text. */
function encode(text: string): number[] {
  return text.split(/(<\|im_start\|>|<\|im_end\|>|<\|endoftext\|>)/).flatMap((piece) => {
    const special = SPECIAL.indexOf(piece);
    return special < 0 ? [...Buffer.from(piece)] : [FIRST_SPECIAL + special];
  });
}

const decode = (tokens: readonly number[]): string =>
  tokens.map((token) => SPECIAL[token - FIRST_SPECIAL] ?? String.fromCharCode(token)).join('');

const SPEECH = Buffer.from(Array.from({ length: 1_500 }, (_, at) => `word${at} `).join(''));

/** What it says next depends on how much of its answer is there already, which is how phases go on. */
function said(prompt: readonly number[]): number {
  return prompt.length - prompt.lastIndexOf(FIRST_SPECIAL) - 'assistant\n'.length - 1;
}

type Body = Readonly<Record<string, unknown>>;

/** Why an answer ends with a token. */
type End = 'length' | 'stop' | undefined;

interface Speech {
  readonly from: number;
  /** Follows it in the place of speaking. */
  readonly grammar?: string | undefined;
  readonly tokensMax: number;
  /** One event for each token. */
  readonly event: (token: number, count: number, end: End) => object;
  readonly tail: readonly unknown[];
}

export async function startToyServer(): Promise<ToyServer> {
  let busy = 0;
  const waiting: (() => void)[] = [];

  const speak = async (response: ServerResponse, speech: Speech): Promise<void> => {
    const { from, grammar, tokensMax, event, tail } = speech;
    const words = grammar === undefined ? undefined : [...Buffer.from(readGbnf(grammar).walk(() => 0)), END_TOKEN];
    const tokenAt = (at: number): number => (words ? words[at] : SPEECH[(from + at) % SPEECH.length]) ?? 0;
    const length = Math.min(tokensMax, words?.length ?? tokensMax);
    while (busy >= TOY_SLOTS && !response.destroyed) {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        response.on('close', resolve);
      });
    }
    if (response.destroyed) return;
    busy++;
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    response.flushHeaders();
    for (let count = 1; count <= length && !response.destroyed; count++) {
      const token = tokenAt(count - 1);
      const end: End = token === END_TOKEN ? 'stop' : count === length ? 'length' : undefined;
      const isTaken = response.write(`data: ${JSON.stringify(event(token, count, end))}\n\n`);
      if (!isTaken) await Promise.race([once(response, 'drain'), once(response, 'close')]);
      if (count % 4 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    for (const last of tail) response.write(`data: ${typeof last === 'string' ? last : JSON.stringify(last)}\n\n`);
    response.end();
    busy--;
    for (const next of waiting.splice(0)) next();
  };

  const routes: Record<string, (body: Body, response: ServerResponse) => Promise<void> | object> = {
    '/health': () => ({}),
    '/v1/models': () => ({ data: [{ id: 'toy', max_model_len: TOY_CONTEXT_TOKENS }] }),
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
      const top = body['logprobs'] as number | undefined;
      const { grammar } = (body['structured_outputs'] ?? {}) as { grammar?: string };
      return speak(response, {
        from: said(prompt),
        grammar,
        tokensMax: Number(body['max_tokens']),
        event: (token, _, end) => ({
          choices: [
            {
              index: 0,
              text: end === 'stop' ? '' : decode([token]),
              token_ids: [token],
              logprobs: top === undefined ? null : completionLogprobs(token, top),
              finish_reason: end ?? null,
              stop_reason: null,
            },
          ],
        }),
        tail: [{ choices: [], usage: { prompt_tokens: prompt.length } }, '[DONE]'],
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
      return speak(response, {
        from: said(prompt),
        grammar,
        tokensMax,
        event: (token, count, end) => {
          if (end !== 'stop') text += decode([token]);
          ids.push(token);
          const reasons = { length: { type: 'length', length: tokensMax }, stop: { type: 'stop', matched: token } };
          const reason = end ? reasons[end] : null;
          const counts = { prompt_tokens: prompt.length, completion_tokens: count, cached_tokens: 0 };
          return { text, output_ids: ids, meta_info: { id: 'x', finish_reason: reason, ...counts } };
        },
        tail: ['[DONE]'],
      });
    },
    '/v1/chat/completions': (body, response) => speak(response, chatSpeech(body)),
  };

  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    response.on('error', () => undefined);
    void answer(request, response);
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body: Body = request.method === 'POST' ? JSON.parse(await readText(request)) : {};
    const route = routes[request.url ?? ''];
    const prompt = promptTokens(body);
    const biased = biasRefused(body);
    const refusal = !route ? 404 : prompt >= TOY_CONTEXT_TOKENS || biased ? 400 : undefined;
    if (refusal !== undefined || !route) {
      const message = biased ?? `This model's maximum context length is ${TOY_CONTEXT_TOKENS} tokens, you asked for ${prompt}.`;
      return void response.writeHead(refusal ?? 404).end(JSON.stringify({ error: { message } }));
    }
    const told = route(body, response);
    if (told instanceof Promise) await told;
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(told));
  };
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    busy: () => busy,
    strike: () => server.closeAllConnections(),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function promptTokens({ prompt, input_ids: ids, messages }: Body): number {
  const tokens = prompt ?? ids;
  if (Array.isArray(tokens)) return tokens.length;
  return Array.isArray(messages) ? encode(JSON.stringify(messages)).length : 0;
}

/** What no token of its vocabulary is biased by, as one server says it. */
function biasRefused({ sampling_params: params }: Body): string | undefined {
  const { logit_bias: bias = {} } = (params ?? {}) as { logit_bias?: object };
  const last = FIRST_SPECIAL + SPECIAL.length - 1;
  const beyond = Object.keys(bias).find((id) => Number(id) > last);
  return beyond && `logit_bias must has keys in [0, ${last}], got ${beyond}.`;
}

const completionLogprobs = (token: number, top: number) => ({
  tokens: [decode([token])],
  token_logprobs: [-0.5],
  top_logprobs: [Object.fromEntries(['x', 'y', 'z', decode([token])].slice(-top).map((text, at) => [text, -1 - at]))],
});

/** Chats say their stop string, and which of several choices they speak for. */
function chatSpeech(body: Body): Speech {
  const choices = Number(body['n'] ?? 1);
  const stops = (body['stop'] ?? []) as readonly string[];
  const wish = Number(body['max_tokens'] ?? body['max_completion_tokens'] ?? TOY_CONTEXT_TOKENS);
  const text = decode([...SPEECH.subarray(0, wish)]);
  const stop = stops.find((each) => text.includes(each));
  const length = stop === undefined ? wish : text.indexOf(stop);
  const top = body['top_logprobs'] as number | undefined;
  const entry = (token: string, logprob: number) => ({ token, logprob, bytes: [...Buffer.from(token)] });
  const logprobsOf = (token: string) => ({
    content: [
      { ...entry(token, -0.5), top_logprobs: ['x', 'y', 'z'].slice(0, top ?? 0).map((other, at) => entry(other, -1 - at)) },
    ],
  });
  return {
    from: 0,
    tokensMax: length,
    event: (token, _, end) => ({
      choices: Array.from({ length: choices }, (__, index) => ({
        index,
        delta: { content: decode([token]) },
        ...(body['logprobs'] === true ? { logprobs: logprobsOf(decode([token])) } : {}),
        finish_reason: !end ? null : stop === undefined ? 'length' : 'stop',
        ...(end && stop !== undefined ? { stop_reason: stop } : {}),
      })),
    }),
    tail: [{ choices: [], usage: { prompt_tokens: promptTokens(body), completion_tokens: choices * length } }, '[DONE]'],
  };
}
