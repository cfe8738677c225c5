import { z } from 'zod';
import type { AlternativeToken, TokenLogprob } from '../../core/event.ts';
import { LOGPROB_MIN, UPSTREAM_ASK_MS } from '../../core/limits.ts';
import { present } from '../../lib/present.ts';
import { ask } from '../remote/ask.ts';
import type { Answer } from '../remote/event-stream.ts';
import type { AnswerNeeds, Dialect, DiscoveryNeeds, Heard, PhaseCall } from './dialect.ts';
import { createHeardUnits } from './heard-units.ts';
import { createPieceTokens } from './piece-tokens.ts';
import { pieceFacts } from './piece-facts.ts';
import { readEvent } from './read-event.ts';
import { samplingWords, specialWords } from './sampling-words.ts';

const Logprobs = z.object({
  tokens: z.array(z.string()),
  token_logprobs: z.array(z.number().nullable()),
  top_logprobs: z.array(z.record(z.string(), z.number().nullable()).nullable()).nullish(),
});

const Chunk = z.object({
  choices: z.array(
    z.object({
      text: z.string(),
      token_ids: z.array(z.int()).nullish(),
      logprobs: Logprobs.nullish(),
      finish_reason: z.string().nullish(),
    }),
  ),
  usage: z.object({ prompt_tokens_details: z.object({ cached_tokens: z.int().min(0).nullish() }).nullish() }).nullish(),
});

const Models = z.object({ data: z.array(z.object({ id: z.string(), max_model_len: z.int().min(1).nullish() })) });

const SpecialText = z.union([z.string(), z.object({ content: z.string() }).transform(({ content }) => content)]);

const TokenizerConfig = z.object({
  chat_template: z.string().nullish().catch(undefined),
  bos_token: SpecialText.nullish().catch(undefined),
  eos_token: SpecialText.nullish().catch(undefined),
  // Releases differ in whether each is its text alone.
  added_tokens_decoder: z.record(z.string(), SpecialText).nullish().catch(undefined),
});

/**
 * vLLM by `/v1/completions` with token ids in and, by `return_token_ids`, out; v0.11 and later. After vLLM's sources
 * (entrypoints/openai/completion, entrypoints/serve/tokenize) and what a server of v0.32 was seen to do.
 *
 * Grammars: `structured_outputs.grammar` takes GBNF. xgrammar, which is its backend unless the operator chose another, was
 * seen to read those that we write as we mean them. Its log probabilities are those before sampling, under a grammar too.
 */
export const VLLM: Dialect = {
  capabilities: { logprobs: true, grammar: true },
  path: '/v1/completions',
  tellsTaken: false,
  tokens: createPieceTokens,
  body: ({ prompt, tokensMax, sampling, gbnf, logprobs, endTokens, markers }, model) => ({
    model,
    prompt,
    max_tokens: tokensMax,
    stream: true,
    stream_options: { include_usage: true },
    return_token_ids: true,
    ...samplingWords(sampling, { seed: 'seed' }),
    ...specialWords(markers),
    ...(endTokens.length > 0 ? { stop_token_ids: endTokens } : {}),
    ...(gbnf === undefined ? {} : { structured_outputs: { grammar: gbnf } }),
    ...(logprobs ? { logprobs: logprobs.top } : {}),
  }),
  answer: createVllmAnswer,
  async discover(needs) {
    const models = await modelOf(needs);
    return await pieceFacts({ ...needs, ...models, ...(await tokenizerOf(needs)) });
  },
};

function createVllmAnswer({ logprobs }: PhaseCall, { faults }: AnswerNeeds): Answer<Heard> {
  const units = createHeardUnits();
  let reason: 'end' | 'length' | undefined;
  let cachedTokens: number | undefined;
  return {
    push(json, emit) {
      const { choices, usage } = readEvent(json, { schema: Chunk, faults });
      cachedTokens = usage?.prompt_tokens_details?.cached_tokens ?? cachedTokens;
      const [choice] = choices;
      if (!choice) return;
      if (reason !== undefined) throw faults.failed('went on after the end of a choice');
      if (!choice.token_ids && choice.text !== '')
        throw faults.failed('tells no token ids: it is older than return_token_ids (v0.10.2)');
      const isEnd = choice.finish_reason === 'stop';
      // The token that ended it is among the ids, and not in the text.
      const ids = isEnd ? (choice.token_ids ?? []).slice(0, -1) : (choice.token_ids ?? []);
      const told = logprobs && choice.logprobs ? toLogprobs(choice.logprobs, logprobs.top) : [];
      units.push({ ids, text: choice.text, logprobs: told.slice(0, ids.length) }, emit);
      if (!choice.finish_reason) return;
      if (!isEnd && choice.finish_reason !== 'length')
        throw faults.failed(`ended with the finish reason ${JSON.stringify(choice.finish_reason.slice(0, 40))}`);
      units.end(emit);
      reason = isEnd ? 'end' : 'length';
    },
    isComplete: () => reason !== undefined,
    end(emit) {
      if (reason === undefined) throw faults.failed('ended its answer before it had a finish reason');
      emit({ type: 'ended', reason, ...present({ cachedTokens }) });
    },
  };
}

const encoder = new TextEncoder();

/** Bytes of half a character are not told: both halves then read U+FFFD. */
const toAlternative = (token: string, logprob: number | null | undefined): AlternativeToken => ({
  token,
  bytes: [...encoder.encode(token)],
  logprob: logprob === null || logprob === undefined || logprob < LOGPROB_MIN ? undefined : logprob,
});

const toLogprobs = (wire: z.output<typeof Logprobs>, top: number): TokenLogprob[] =>
  wire.tokens.map((token, at) => ({
    ...toAlternative(token, wire.token_logprobs[at]),
    top: Object.entries(wire.top_logprobs?.[at] ?? {})
      .map(([text, logprob]) => toAlternative(text, logprob))
      .toSorted((a, b) => (b.logprob ?? -Infinity) - (a.logprob ?? -Infinity))
      .slice(0, top),
  }));

async function modelOf({ connection, model }: DiscoveryNeeds): Promise<{ readonly serverTokens?: number }> {
  const parsed = Models.safeParse(await ask(connection, '/v1/models', { answerMs: UPSTREAM_ASK_MS }));
  if (!parsed.success) throw connection.faults.failed('answered /v1/models in a form that is not known');
  const found = parsed.data.data.find(({ id }) => id === model);
  if (!found) throw connection.faults.failed('has no model of the name that the catalogue entry gives');
  return present({ serverTokens: found.max_model_len });
}

/** Servers tell it where they were started with --enable-tokenizer-info-endpoint. */
async function tokenizerOf({ connection }: DiscoveryNeeds) {
  const config = await ask(connection, '/tokenizer_info', { answerMs: UPSTREAM_ASK_MS }).then(
    (value) => TokenizerConfig.safeParse(value).data,
    () => undefined,
  );
  const added = Object.values(config?.added_tokens_decoder ?? {});
  return {
    ...present({ serverTemplate: config?.chat_template, bosToken: config?.bos_token, eosToken: config?.eos_token }),
    added,
  };
}
