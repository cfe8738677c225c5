import { z } from 'zod';

/** What a server of this format sends. Only what is read is named; everything else in it is let through unseen. */
const Alternative = z.object({
  token: z.string(),
  logprob: z.number().nullish(),
  bytes: z.array(z.int().min(0).max(255)).nullish(),
});

const Logprob = Alternative.extend({ top_logprobs: z.array(Alternative).nullish() });

/** Text, but some servers parse it first. */
const Arguments = z.union([
  z.string(),
  z
    .custom<object>((value) => typeof value === 'object' && value !== null && !Array.isArray(value))
    .transform((value) => JSON.stringify(value)),
]);

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
  /** The newer name that some servers give the same thing. */
  reasoning: z.string().nullish(),
  tool_calls: z.array(ToolCallDelta).nullish(),
  function_call: FunctionDelta.nullish(),
});

const MatchedStop = z.union([z.string(), z.number()]).nullish();

const Choice = z.object({
  index: z.int().min(0).nullish(),
  delta: Delta.nullish(),
  /** In the place of `delta` when the server ignored that it should stream. */
  message: Delta.nullish(),
  finish_reason: z.string().nullish(),
  logprobs: z.object({ content: z.array(Logprob).nullish() }).nullish(),
  /** The stop string that was hit, in two servers' words. */
  stop_reason: MatchedStop,
  matched_stop: MatchedStop,
});

/** An odd count is none: no answer fails for what it is said to have cost. */
const Tokens = z.int().min(0).nullish().catch(undefined);

const Usage = z.object({
  prompt_tokens: Tokens,
  completion_tokens: Tokens,
  prompt_tokens_details: z.object({ cached_tokens: Tokens }).nullish().catch(undefined),
  completion_tokens_details: z.object({ reasoning_tokens: Tokens }).nullish().catch(undefined),
  /** Where one server has it. */
  reasoning_tokens: Tokens,
});

/** One event of a stream, or the whole of an unstreamed answer. */
export const Chunk = z.object({
  choices: z.array(Choice).nullish(),
  usage: Usage.nullish().catch(undefined),
  /** Where either says that it is an error, errorIn() reads it. */
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
