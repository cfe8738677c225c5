import { createUnfinishedAnswerError } from '../remote/stream-errors.ts';
import { z } from 'zod';
import type { AlternativeToken, TokenLogprob } from '../../core/event.ts';
import { ServiceError } from '../../core/error.ts';
import { TOKEN_ID_MAX } from '../../core/limits.ts';
import { UPSTREAM_QUERY_MS } from '../limits.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import { requestParsedJson, requestUpstreamJson } from '../remote/request-json.ts';
import type { UpstreamClient } from '../remote/upstream-client.ts';
import type { ResponseParser } from '../remote/response-parser.ts';
import type { CompletionParserDeps, CompletionDialect, CompletionEvent, PhaseCall } from './completion-dialect.ts';
import { checkPromptLogprobs } from './check-prompt-logprobs.ts';
import { createTokenTextAligner } from './token-text-aligner.ts';
import { createSingleTextTokenizer } from './single-text-tokenizer.ts';
import { inferServerMetadata } from './infer-server-metadata.ts';
import { parseEvent } from './parse-event.ts';
import { encodeSampling, encodeSpecialTokenFields } from './sampling-fields.ts';

/** Log probability, token id, and the token's text if `return_text_in_logprobs` is set. */
const WireLogprob = z.tuple([z.number().nullable(), z.int(), z.string().nullish()]);

/** A list is null for the first token of the prompt. */
const TopLogprobs = z.array(z.array(WireLogprob).nullable()).nullish();

const Event = z.object({
  text: z.string(),
  output_ids: z.array(z.int()).nullish(),
  meta_info: z.object({
    completion_tokens: z.int().min(0),
    cached_tokens: z.int().min(0).nullish(),
    input_token_logprobs: z.array(WireLogprob).nullish(),
    input_top_logprobs: TopLogprobs,
    output_token_logprobs: z.array(WireLogprob).nullish(),
    output_top_logprobs: TopLogprobs,
    finish_reason: z
      .object({
        type: z.string(),
        matched: z.unknown().optional(),
        message: z.string().nullish(),
        status_code: z.int().nullish().catch(undefined),
      })
      .nullish(),
  }),
});

const Info = z.object({
  context_length: z.int().min(1).nullish().catch(undefined),
  incremental_streaming_output: z.boolean().nullish().catch(undefined),
});

const Texts = z.object({ text: z.array(z.string()) });

const Models = z.object({ data: z.array(z.object({ max_model_len: z.int().min(1).nullish() })) });

/**
 * SGLang with its own `/generate` route, which accepts and returns token ids; `/v1/completions` returns none. Follows
 * SGLang's documentation (sampling_params.md) and sources (srt/managers/tokenizer_manager.py) and a server
 * of v0.5.23 as tested.
 *
 * By default the log probabilities of generated tokens are those after applying temperature, penalties and grammar
 * (srt/layers/sampler.py); for the temperature 0, the server computes with 1. Those of the prompt are always the model's own.
 * Grammars: `ebnf` accepts GBNF; the default backend xgrammar interprets Parley's grammars correctly in tests.
 */
export const SGLANG_DIALECT: CompletionDialect = {
  capabilities: { logprobs: 'greedy', promptLogprobs: true, grammar: true },
  penalizesPrompt: false,
  path: '/generate',
  reportsAcceptance: false,
  createTokenizer: createSingleTextTokenizer,
  async decodeTokenLists(client, lists, signal) {
    const { text } = await requestParsedJson(client, '/detokenize', {
      schema: Texts,
      body: { tokens: lists, skip_special_tokens: false },
      responseMs: UPSTREAM_QUERY_MS,
      signal,
    });
    return text;
  },
  encodeBody: ({ prompt, tokensMax, sampling, gbnf, logprobs, promptLogprobs, endTokens, markers }) => ({
    input_ids: prompt,
    stream: true,
    ...(logprobs || promptLogprobs
      ? {
          return_logprob: true,
          return_text_in_logprobs: true,
          top_logprobs_num: (logprobs ?? promptLogprobs)?.top,
          // −1: only generated tokens.
          logprob_start_len: promptLogprobs ? 0 : -1,
        }
      : {}),
    sampling_params: {
      max_new_tokens: tokensMax,
      ...encodeSampling(sampling, { seed: 'sampling_seed' }),
      ...encodeSpecialTokenFields(markers),
      ...(gbnf === undefined ? {} : { ebnf: gbnf }),
      ...(endTokens.length > 0 ? { stop_token_ids: endTokens } : {}),
    },
  }),
  createParser: createSglangResponseParser,
  async discover(deps) {
    const get = (path: string): Promise<unknown> =>
      requestUpstreamJson(deps.client, path, { responseMs: UPSTREAM_QUERY_MS });
    const models = Models.safeParse(await get('/v1/models'));
    // Two names of one route, the older last; a server without either is treated as started with defaults.
    const info = await get('/server_info')
      .catch(() => get('/get_server_info'))
      .then((value) => Info.safeParse(value).data)
      .catch(() => undefined);
    const reportedContextTokens = models.data?.data[0]?.max_model_len ?? info?.context_length;
    const vocabularySize = await probeVocabularySize(deps.client);
    const metadata = await inferServerMetadata({
      ...deps,
      ...omitNullish({ reportedContextTokens, vocabularySize }),
      addedTokens: [],
    });
    return { ...metadata, sendsDeltas: info?.incremental_streaming_output === true };
  },
};

/**
 * Finds the vocabulary size with a logit bias for an invalid token: the refusal names the valid range. The size must be
 * known, because a prompt with an invalid token id crashes the server.
 */
async function probeVocabularySize(client: UpstreamClient): Promise<number | undefined> {
  const body = { input_ids: [0], sampling_params: { max_new_tokens: 1, logit_bias: { [TOKEN_ID_MAX]: 0 } } };
  const reportedMax = await requestUpstreamJson(client, '/generate', { body, responseMs: UPSTREAM_QUERY_MS }).then(
    () => undefined,
    (thrown: unknown) => /logit_bias .*\[0, (\d+)\]/.exec(ServiceError.from(thrown).message)?.[1],
  );
  return reportedMax === undefined ? undefined : Number(reportedMax) + 1;
}

const encoder = new TextEncoder();

const decodeLogprob = ([logprob, , text]: z.output<typeof WireLogprob>): AlternativeToken => ({
  token: text ?? '',
  bytes: [...encoder.encode(text ?? '')],
  logprob: logprob ?? undefined,
});

const decodeLogprobs = (
  tokens: readonly z.output<typeof WireLogprob>[] | null | undefined,
  top: z.output<typeof TopLogprobs>,
): TokenLogprob[] =>
  (tokens ?? []).map((token, at) => ({ ...decodeLogprob(token), top: (top?.[at] ?? []).map(decodeLogprob) }));

/** Versions differ in whether events hold only new ids or all so far; the total count shows how many are new. */
function createSglangResponseParser(
  { prompt, tokensMax, logprobs, promptLogprobs }: PhaseCall,
  { errors, metadata }: CompletionParserDeps,
): ResponseParser<CompletionEvent> {
  const aligner = createTokenTextAligner();
  let seenTokens = 0;
  let fullText = '';
  let isOverrun = false;
  let isFinished = false;
  let isPromptReported = promptLogprobs === undefined;
  let areCachedReported = false;
  return {
    push(json, emit) {
      const { output_ids: ids, meta_info: meta, ...event } = parseEvent(json, { schema: Event, errors });
      if (isFinished) {
        isOverrun = true;
        return;
      }
      if (!isPromptReported) {
        const entries = decodeLogprobs(meta.input_token_logprobs, meta.input_top_logprobs);
        emit({ type: 'prompt', logprobs: checkPromptLogprobs(entries, { promptTokens: prompt.length, errors }) });
        isPromptReported = true;
      }
      if (!areCachedReported && typeof meta.cached_tokens === 'number') {
        emit({ type: 'cached', tokens: meta.cached_tokens });
        areCachedReported = true;
      }
      const count = tokensMax === 0 ? 0 : meta.completion_tokens - seenTokens;
      if (!ids || ids.length < count) throw errors.createFailure('reports no token ids');
      seenTokens = meta.completion_tokens;
      const newIds = count > 0 ? ids.slice(-count) : [];
      const newLogprobs =
        logprobs && count > 0
          ? decodeLogprobs(meta.output_token_logprobs?.slice(-count), meta.output_top_logprobs?.slice(-count))
          : [];
      const newText = metadata.sendsDeltas ? event.text : event.text.slice(fullText.length);
      if (!metadata.sendsDeltas) {
        if (!event.text.startsWith(fullText)) throw errors.createFailure('changed text that it had already sent');
        fullText = event.text;
      }
      const reason = meta.finish_reason;
      // The token that ended the answer is among the ids, but not in the text.
      const endsWithMatch = reason?.type === 'stop' && newIds.at(-1) === reason.matched;
      const textIds = endsWithMatch ? newIds.slice(0, -1) : newIds;
      aligner.push({ ids: textIds, text: newText, logprobs: newLogprobs.slice(0, textIds.length) }, emit);
      if (!reason) return;
      if (reason.type !== 'stop' && reason.type !== 'length') {
        const { message, status_code: status } = reason;
        throw errors.createFromStatus(status ?? undefined, omitNullish({ message }));
      }
      aligner.end(emit);
      isFinished = true;
      const endReason = reason.type === 'stop' ? 'end' : 'length';
      emit({ type: 'ended', reason: endReason, ...omitNullish({ endLogprob: newLogprobs[textIds.length] }) });
    },
    isComplete: () => isFinished,
    isOverrun: () => isOverrun,
    end() {
      if (!isFinished) throw createUnfinishedAnswerError(errors);
    },
  };
}
