import { createUnfinishedAnswerError } from '../remote/stream-errors.ts';
import { z } from 'zod';
import { ServiceError } from '../../core/error.ts';
import { TOKEN_ID_MAX } from '../../core/limits.ts';
import { UPSTREAM_QUERY_MS } from '../limits.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import { requestUpstreamJson } from '../remote/request-json.ts';
import type { UpstreamClient } from '../remote/upstream-client.ts';
import type { ResponseParser } from '../remote/response-parser.ts';
import type { CompletionParserDeps, CompletionDialect, CompletionEvent, PhaseCall } from './completion-dialect.ts';
import { createTokenTextAligner } from './token-text-aligner.ts';
import { createSingleTextTokenizer } from './single-text-tokenizer.ts';
import { inferServerMetadata } from './infer-server-metadata.ts';
import { parseEvent } from './parse-event.ts';
import { encodeSampling, encodeSpecialTokenFields } from './sampling-fields.ts';

const Event = z.object({
  text: z.string(),
  output_ids: z.array(z.int()).nullish(),
  meta_info: z.object({
    completion_tokens: z.int().min(0),
    cached_tokens: z.int().min(0).nullish(),
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

const Models = z.object({ data: z.array(z.object({ max_model_len: z.int().min(1).nullish() })) });

/**
 * SGLang with its own `/generate` route, which accepts and returns token ids; `/v1/completions` returns none. Follows
 * SGLang's documentation (sampling_params.md) and sources (srt/managers/tokenizer_manager.py) and a server
 * of v0.5.23 as tested.
 *
 * By default its log probabilities are those after applying the temperature, so Parley does not offer them. Grammars:
 * `ebnf` accepts GBNF; the default backend xgrammar interprets Parley's grammars correctly in tests.
 */
export const SGLANG_DIALECT: CompletionDialect = {
  capabilities: { logprobs: false, grammar: true },
  path: '/generate',
  reportsAcceptance: false,
  createTokenizer: createSingleTextTokenizer,
  encodeBody: ({ prompt, tokensMax, sampling, gbnf, endTokens, markers }) => ({
    input_ids: prompt,
    stream: true,
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

/** Versions differ in whether events hold only new ids or all so far; the total count shows how many are new. */
function createSglangResponseParser(
  _call: PhaseCall,
  { errors, metadata }: CompletionParserDeps,
): ResponseParser<CompletionEvent> {
  const aligner = createTokenTextAligner();
  let seenTokens = 0;
  let fullText = '';
  let isFinished = false;
  return {
    push(json, emit) {
      const { output_ids: ids, meta_info: meta, ...event } = parseEvent(json, { schema: Event, errors });
      if (isFinished) throw errors.createFailure('continued after its end');
      const count = meta.completion_tokens - seenTokens;
      if (!ids || ids.length < count) throw errors.createFailure('reports no token ids');
      seenTokens = meta.completion_tokens;
      const newIds = count > 0 ? ids.slice(-count) : [];
      const newText = metadata.sendsDeltas ? event.text : event.text.slice(fullText.length);
      if (!metadata.sendsDeltas) {
        if (!event.text.startsWith(fullText)) throw errors.createFailure('changed text that it had already sent');
        fullText = event.text;
      }
      const reason = meta.finish_reason;
      // The token that ended the answer is among the ids, but not in the text.
      const endsWithMatch = reason?.type === 'stop' && newIds.at(-1) === reason.matched;
      aligner.push({ ids: endsWithMatch ? newIds.slice(0, -1) : newIds, text: newText, logprobs: [] }, emit);
      if (!reason) return;
      if (reason.type !== 'stop' && reason.type !== 'length') {
        const { message, status_code: status } = reason;
        throw errors.createFromStatus(status ?? undefined, omitNullish({ message }));
      }
      aligner.end(emit);
      isFinished = true;
      const endReason = reason.type === 'stop' ? 'end' : 'length';
      emit({ type: 'ended', reason: endReason, ...omitNullish({ cachedTokens: meta.cached_tokens }) });
    },
    isComplete: () => isFinished,
    end() {
      if (!isFinished) throw createUnfinishedAnswerError(errors);
    },
  };
}
