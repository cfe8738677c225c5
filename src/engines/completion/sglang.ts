import { z } from 'zod';
import { ServiceError } from '../../core/error.ts';
import { TOKEN_ID_MAX, UPSTREAM_ASK_MS } from '../../core/limits.ts';
import { present } from '../../lib/present.ts';
import { ask } from '../remote/ask.ts';
import type { Connection } from '../remote/connection.ts';
import type { Answer } from '../remote/event-stream.ts';
import type { AnswerNeeds, Dialect, Heard, PhaseCall } from './dialect.ts';
import { createHeardUnits } from './heard-units.ts';
import { createPieceTokens } from './piece-tokens.ts';
import { pieceFacts } from './piece-facts.ts';
import { readEvent } from './read-event.ts';
import { samplingWords, specialWords } from './sampling-words.ts';

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
 * SGLang by its own `/generate`, which takes and tells token ids; its `/v1/completions` tells none. After SGLang's sources
 * and documentation (docs/basic_usage/sampling_params.md, srt/managers/tokenizer_manager.py) and what a server of v0.5.23 was
 * seen to do.
 *
 * Its log probabilities are those after the temperature unless it was started otherwise, so we do not offer them. Grammars:
 * `ebnf` takes GBNF; xgrammar, its backend unless the operator chose another, was seen to read those that we write as we
 * mean them.
 */
export const SGLANG: Dialect = {
  capabilities: { logprobs: false, grammar: true },
  path: '/generate',
  tellsTaken: false,
  tokens: createPieceTokens,
  body: ({ prompt, tokensMax, sampling, gbnf, endTokens, markers }) => ({
    input_ids: prompt,
    stream: true,
    sampling_params: {
      max_new_tokens: tokensMax,
      ...samplingWords(sampling, { seed: 'sampling_seed' }),
      ...specialWords(markers),
      ...(gbnf === undefined ? {} : { ebnf: gbnf }),
      ...(endTokens.length > 0 ? { stop_token_ids: endTokens } : {}),
    },
  }),
  answer: createSglangAnswer,
  async discover(needs) {
    const get = (path: string): Promise<unknown> => ask(needs.connection, path, { answerMs: UPSTREAM_ASK_MS });
    const models = Models.safeParse(await get('/v1/models'));
    // Both names of it, the older last; servers that tell neither are taken as they are started by default.
    const info = await get('/server_info')
      .catch(() => get('/get_server_info'))
      .then((value) => Info.safeParse(value).data)
      .catch(() => undefined);
    const serverTokens = models.data?.data[0]?.max_model_len ?? info?.context_length;
    const vocabularySize = await vocabularyOf(needs.connection);
    const facts = await pieceFacts({ ...needs, ...present({ serverTokens, vocabularySize }), added: [] });
    return { ...facts, tellsPieces: info?.incremental_streaming_output === true };
  },
};

/**
 * Told only in refusing a bias on a token that it has not. It has to be known: a prompt with an id of no token is not
 * refused, the server dies of it.
 */
async function vocabularyOf(connection: Connection): Promise<number | undefined> {
  const body = { input_ids: [0], sampling_params: { max_new_tokens: 1, logit_bias: { [TOKEN_ID_MAX]: 0 } } };
  const said = await ask(connection, '/generate', { body, answerMs: UPSTREAM_ASK_MS }).then(
    () => undefined,
    (thrown: unknown) => /logit_bias .*\[0, (\d+)\]/.exec(ServiceError.from(thrown).message)?.[1],
  );
  return said === undefined ? undefined : Number(said) + 1;
}

/** Versions differ in whether ids are those of the event or all so far; the count, which is of all, tells what is new. */
function createSglangAnswer(_call: PhaseCall, { faults, facts }: AnswerNeeds): Answer<Heard> {
  const units = createHeardUnits();
  let seen = 0;
  let text = '';
  let isEnded = false;
  return {
    push(json, emit) {
      const { output_ids: ids, meta_info: meta, ...event } = readEvent(json, { schema: Event, faults });
      if (isEnded) throw faults.failed('went on after its end');
      const count = meta.completion_tokens - seen;
      if (!ids || ids.length < count) throw faults.failed('tells no token ids');
      seen = meta.completion_tokens;
      const fresh = count > 0 ? ids.slice(-count) : [];
      const piece = facts.tellsPieces ? event.text : event.text.slice(text.length);
      if (!facts.tellsPieces) {
        if (!event.text.startsWith(text)) throw faults.failed('took back what it had said');
        text = event.text;
      }
      const reason = meta.finish_reason;
      // The token that ended it is among the ids, and not in the text.
      const isMatch = reason?.type === 'stop' && fresh.at(-1) === reason.matched;
      units.push({ ids: isMatch ? fresh.slice(0, -1) : fresh, text: piece, logprobs: [] }, emit);
      if (!reason) return;
      if (reason.type !== 'stop' && reason.type !== 'length') {
        const { message, status_code: status } = reason;
        throw faults.refused(status ?? undefined, present({ message }));
      }
      units.end(emit);
      isEnded = true;
      const reached = reason.type === 'stop' ? 'end' : 'length';
      emit({ type: 'ended', reason: reached, ...present({ cachedTokens: meta.cached_tokens }) });
    },
    isComplete: () => isEnded,
    end() {
      if (!isEnded) throw faults.failed('ended its answer before it had a finish reason');
    },
  };
}
