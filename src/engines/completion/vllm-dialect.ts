import { createFinishReasonError, createUnfinishedAnswerError } from '../remote/stream-errors.ts';
import { z } from 'zod';
import type { AlternativeToken, TokenLogprob } from '../../core/event.ts';
import { LOGPROB_MIN } from '../../core/limits.ts';
import { UPSTREAM_QUERY_MS } from '../limits.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import { requestUpstreamJson } from '../remote/request-json.ts';
import type { ResponseParser } from '../remote/response-parser.ts';
import type {
  CompletionParserDeps,
  CompletionDialect,
  CompletionDiscoveryDeps,
  CompletionEvent,
  PhaseCall,
} from './completion-dialect.ts';
import { checkPromptLogprobs } from './check-prompt-logprobs.ts';
import { createTokenTextAligner } from './token-text-aligner.ts';
import { createSingleTextTokenizer } from './single-text-tokenizer.ts';
import { inferServerMetadata } from './infer-server-metadata.ts';
import { parseEvent } from './parse-event.ts';
import { encodeSampling, encodeSpecialTokenFields } from './sampling-fields.ts';

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

const Models = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      /** Absent for a LoRA adapter, which has the context of its `parent`. */
      max_model_len: z.int().min(1).nullish(),
      parent: z.string().nullish(),
    }),
  ),
});

const SpecialText = z.union([z.string(), z.object({ content: z.string() }).transform(({ content }) => content)]);

const TokenizerConfig = z.object({
  // One template, or several with names.
  chat_template: z
    .union([z.string(), z.array(z.object({ name: z.string(), template: z.string() }))])
    .nullish()
    .catch(undefined),
  bos_token: SpecialText.nullish().catch(undefined),
  eos_token: SpecialText.nullish().catch(undefined),
  // Releases differ in whether each entry is an object or only its text.
  added_tokens_decoder: z.record(z.string(), SpecialText).nullish().catch(undefined),
});

/**
 * vLLM with `/v1/completions`, token ids in the prompt and, by `return_token_ids`, in the response; v0.11 and later. Follows
 * vLLM's sources (entrypoints/openai/completion, entrypoints/serve/tokenize) and a server of v0.32 as tested.
 *
 * Grammars: `structured_outputs.grammar` accepts GBNF; the default backend xgrammar interprets Parley's grammars correctly
 * in tests. Log probabilities are those before sampling, also with a grammar. `echo` adds those of the prompt to the first
 * chunk; with `return_token_ids`, the chunk's text and `token_ids` are those of the answer alone.
 */
export const VLLM_DIALECT: CompletionDialect = {
  capabilities: { logprobs: true, promptLogprobs: true, grammar: true },
  penalizesPrompt: true,
  path: '/v1/completions',
  reportsAcceptance: false,
  createTokenizer: createSingleTextTokenizer,
  encodeBody: ({ prompt, tokensMax, sampling, gbnf, logprobs, promptLogprobs, endTokens, markers }, model) => ({
    model,
    prompt,
    max_tokens: tokensMax,
    stream: true,
    stream_options: { include_usage: true },
    return_token_ids: true,
    ...encodeSampling(sampling, { seed: 'seed' }),
    ...encodeSpecialTokenFields(markers),
    ...(endTokens.length > 0 ? { stop_token_ids: endTokens } : {}),
    ...(gbnf === undefined ? {} : { structured_outputs: { grammar: gbnf } }),
    ...omitNullish({ logprobs: (logprobs ?? promptLogprobs)?.top }),
    // Without `echo`, the server refuses 0 for max_tokens.
    ...(promptLogprobs || tokensMax === 0 ? { echo: true } : {}),
  }),
  createParser: createVllmResponseParser,
  async discover(deps) {
    const models = await fetchModelInfo(deps);
    return await inferServerMetadata({ ...deps, ...models, ...(await fetchTokenizerInfo(deps)) });
  },
};

function createVllmResponseParser(
  { prompt, logprobs, promptLogprobs }: PhaseCall,
  { errors }: CompletionParserDeps,
): ResponseParser<CompletionEvent> {
  const aligner = createTokenTextAligner();
  let reason: 'end' | 'length' | undefined;
  let endLogprob: TokenLogprob | undefined;
  let isPromptReported = promptLogprobs === undefined;
  let cachedTokens: number | undefined;
  let isOverrun = false;
  return {
    push(json, emit) {
      const { choices, usage } = parseEvent(json, { schema: Chunk, errors });
      cachedTokens = usage?.prompt_tokens_details?.cached_tokens ?? cachedTokens;
      const [choice] = choices;
      if (!choice) return;
      if (reason !== undefined) {
        isOverrun = true;
        return;
      }
      if (!choice.token_ids && choice.text !== '')
        throw errors.createFailure(
          'reports no token ids: update vLLM to v0.10.2 or later, which supports return_token_ids',
        );
      const isEnd = choice.finish_reason === 'stop';
      // The token that ended the answer is among the ids, but not in the text.
      const ids = isEnd ? (choice.token_ids ?? []).slice(0, -1) : (choice.token_ids ?? []);
      const promptTokens = isPromptReported ? 0 : prompt.length;
      const top = (logprobs ?? promptLogprobs)?.top;
      const entries =
        top !== undefined && choice.logprobs ? decodeLogprobs(choice.logprobs, { top, promptTokens }) : [];
      const tokenLogprobs = entries.slice(promptTokens);
      if (!isPromptReported) {
        const promptEntries = entries.slice(0, promptTokens);
        emit({ type: 'prompt', logprobs: checkPromptLogprobs(promptEntries, { promptTokens, errors }) });
        isPromptReported = true;
      }
      if (isEnd) endLogprob = tokenLogprobs[ids.length];
      aligner.push({ ids, text: choice.text, logprobs: tokenLogprobs.slice(0, ids.length) }, emit);
      if (!choice.finish_reason) return;
      if (!isEnd && choice.finish_reason !== 'length') throw createFinishReasonError(errors, choice.finish_reason);
      aligner.end(emit);
      reason = isEnd ? 'end' : 'length';
    },
    isComplete: () => reason !== undefined,
    isOverrun: () => isOverrun,
    end(emit) {
      if (reason === undefined) throw createUnfinishedAnswerError(errors);
      emit({ type: 'ended', reason, ...omitNullish({ cachedTokens, endLogprob }) });
    },
  };
}

const encoder = new TextEncoder();

/** The bytes of a part of a character are not reported: its text is U+FFFD. */
const createAlternative = (token: string, logprob: number | null | undefined, min: number): AlternativeToken => ({
  token,
  bytes: [...encoder.encode(token)],
  logprob: logprob === null || logprob === undefined || logprob < min ? undefined : logprob,
});

/** @param options `promptTokens`: number of entries that belong to the prompt and keep small values. */
const decodeLogprobs = (
  wire: z.output<typeof Logprobs>,
  { top, promptTokens }: { readonly top: number; readonly promptTokens: number },
): TokenLogprob[] =>
  wire.tokens.map((token, at) => {
    const min = at < promptTokens ? -Infinity : LOGPROB_MIN;
    return {
      ...createAlternative(token, wire.token_logprobs[at], min),
      top: Object.entries(wire.top_logprobs?.[at] ?? {})
        .map(([text, logprob]) => createAlternative(text, logprob, min))
        .toSorted((a, b) => (b.logprob ?? -Infinity) - (a.logprob ?? -Infinity))
        .slice(0, top),
    };
  });

async function fetchModelInfo({
  client,
  model,
}: CompletionDiscoveryDeps): Promise<{ readonly reportedContextTokens?: number }> {
  const parsed = Models.safeParse(await requestUpstreamJson(client, '/v1/models', { responseMs: UPSTREAM_QUERY_MS }));
  if (!parsed.success) throw client.errors.createFailure('answered /v1/models in an unknown format');
  const find = (name: string | null | undefined) => parsed.data.data.find(({ id }) => id === name);
  const modelEntry = find(model);
  if (!modelEntry) throw client.errors.createFailure('has no model with the name in the catalogue entry');
  return omitNullish({ reportedContextTokens: modelEntry.max_model_len ?? find(modelEntry.parent)?.max_model_len });
}

/** Reads the tokenizer configuration; a server has it if it was started with --enable-tokenizer-info-endpoint. */
async function fetchTokenizerInfo({ client }: CompletionDiscoveryDeps) {
  const config = await requestUpstreamJson(client, '/tokenizer_info', { responseMs: UPSTREAM_QUERY_MS }).then(
    (value) => TokenizerConfig.safeParse(value).data,
    () => undefined,
  );
  const templates = config?.chat_template;
  const findTemplate = (name: string): string | undefined =>
    typeof templates === 'string' ? undefined : templates?.find((each) => each.name === name)?.template;
  const addedTokens = Object.values(config?.added_tokens_decoder ?? {});
  return {
    ...omitNullish({
      reportedTemplate: typeof templates === 'string' ? templates : findTemplate('default'),
      reportedToolTemplate: findTemplate('tool_use'),
      bosToken: config?.bos_token,
      eosToken: config?.eos_token,
    }),
    addedTokens,
  };
}
