import { z } from 'zod';
import { UPSTREAM_TOKENS_MAX } from '../limits.ts';
import { isRecord } from '../../lib/is-record.ts';

// Schemas of a chat-completions stream. They name only the fields that are read; other fields are ignored.
const Alternative = z.object({
  token: z.string(),
  logprob: z.number().nullish(),
  bytes: z.array(z.int().min(0).max(255)).nullish(),
});

const Logprob = Alternative.extend({ top_logprobs: z.array(Alternative).nullish() });

/** JSON text; some servers send the parsed object instead. */
const Arguments = z.union([z.string(), z.custom<object>(isRecord).transform((value) => JSON.stringify(value))]);

const FunctionDelta = z.object({ name: z.string().nullish(), arguments: Arguments.nullish() });

const ToolCallDelta = z.object({
  index: z.int().min(0).nullish(),
  id: z.string().nullish(),
  function: FunctionDelta.nullish(),
});

const Delta = z.object({
  content: z.string().nullish(),
  refusal: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  /** The same as `reasoning_content`, under the newer name that some servers use. */
  reasoning: z.string().nullish(),
  tool_calls: z.array(ToolCallDelta).nullish(),
  function_call: FunctionDelta.nullish(),
});

const MatchedStop = z.union([z.string(), z.number()]).nullish();

const Choice = z.object({
  index: z.int().min(0).nullish(),
  delta: Delta.nullish(),
  /** Replaces `delta` when the server ignored the `stream` field. */
  message: Delta.nullish(),
  finish_reason: z.string().nullish(),
  logprobs: z.object({ content: z.array(Logprob).nullish() }).nullish(),
  /** The stop string or token that matched, in the fields of vLLM and SGLang. */
  stop_reason: MatchedStop,
  matched_stop: MatchedStop,
});

/** An invalid count is ignored: it must not fail the answer. */
const Tokens = z.int().min(0).max(UPSTREAM_TOKENS_MAX).nullish().catch(undefined);

const Usage = z.object({
  prompt_tokens: Tokens,
  completion_tokens: Tokens,
  prompt_tokens_details: z
    .object({
      cached_tokens: Tokens,
      image_tokens: Tokens,
      audio_tokens: Tokens,
      /** vLLM reports images and sound here, by the name of the modality. */
      multimodal_tokens: z.object({ image: Tokens, audio: Tokens }).nullish().catch(undefined),
    })
    .nullish()
    .catch(undefined),
  completion_tokens_details: z.object({ reasoning_tokens: Tokens }).nullish().catch(undefined),
  /** SGLang reports it here instead of in the details. */
  reasoning_tokens: Tokens,
});

/** One event of a stream, or a whole unstreamed response. */
export const Chunk = z.object({
  choices: z.array(Choice).nullish(),
  usage: Usage.nullish().catch(undefined),
  /** An error object in either field is read by `findUpstreamError`. */
  error: z.unknown().optional(),
  object: z.unknown().optional(),
});

export type Chunk = z.output<typeof Chunk>;
export type WireChoice = z.output<typeof Choice>;
export type WireDelta = z.output<typeof Delta>;
export type WireToolCall = z.output<typeof ToolCallDelta>;
export type WireLogprob = z.output<typeof Logprob>;
export type WireAlternative = z.output<typeof Alternative>;
export type WireUsage = z.output<typeof Usage>;
