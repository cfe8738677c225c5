import type { JsonSchema } from './grammar.ts';
import type { Message, Tool } from './message.ts';
import type { ServerToolOptions } from './server-tools.ts';

/** Sampling parameters. Absent: the model's default from the catalogue. Ranges: core/limits.ts. */
export interface Sampling {
  readonly temperature?: number;
  readonly topP?: number;
  /** 0 disables the limit. */
  readonly topK?: number;
  readonly minP?: number;
  readonly repetitionPenalty?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  /** Maps a token id to the number added to its logit, −100 to 100. */
  readonly logitBias?: ReadonlyMap<number, number>;
  /** The same seed and parameters produce the same text, whatever other requests run. */
  readonly seed?: number;
}

/** Conditions that end generation besides the model's end-of-text token. The matched text is not part of the answer. */
export interface StopConditions {
  readonly strings: readonly string[];
  /** Sequences of token ids; most have length 1. */
  readonly tokens: readonly (readonly number[])[];
  /** Texts of special tokens that also end an answer. They come from the model family, never from a caller. */
  readonly special?: readonly string[];
}

export const NO_STOP: StopConditions = { strings: [], tokens: [] };

/** Limits of thinking: `budgetTokens` if present, else `effort`, else the model's maximum. */
export interface ThinkingOptions {
  readonly budgetTokens?: number;
  readonly effort?: ThinkingEffort;
}

/** Templates may know some of them. As limits, `xhigh` is `max` and each of the others `high`. */
export type ThinkingEffort = 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

export const isMaxEffort = (effort: ThinkingEffort | undefined): boolean => effort === 'max' || effort === 'xhigh';

/** Functions that the model may call. Absent from a request that forbids calls. */
export interface ToolUseOptions {
  /** Not empty, with unique names. */
  readonly tools: readonly Tool[];
  /** `required`: at least one call. `{ name }`: a call of that tool. */
  readonly choice: 'auto' | 'required' | { readonly name: string };
  /** Allows several calls in one answer; otherwise at most one. */
  readonly isParallel: boolean;
  /** Streams arguments that contain arrays or objects while they are generated; otherwise sends them complete. */
  readonly streamsComplexArguments: boolean;
}

/**
 * Treatment of fenced Python blocks. Each ends the answer, because a model that goes on would invent the program's
 * output.
 */
export interface ProgramBlockOptions {
  /** The tool that a block calls, with the program as its only argument. Absent: the block stays in the text. */
  readonly tool?: string;
  /** Opening fence at the end of the prompt: the answer starts inside a block. */
  readonly opened?: string;
  /** Blocks do not end the answer: the model knows the output of a program, and may show it with words about it. */
  readonly keepsRest?: boolean;
  /** Programs that have run. Their blocks are text. */
  readonly ranPrograms?: readonly string[];
}

/** Required form of the answer's text. */
export type OutputFormat =
  | { readonly type: 'json-object' }
  /** `field`: path of the schema in the request, for error messages. */
  | { readonly type: 'json-schema'; readonly name: string; readonly schema: JsonSchema; readonly field: string };

/** Input of a completion without a conversation. All of it is plain text, even what looks like a special token. */
export type TextPrompt =
  | { readonly type: 'text'; readonly text: string }
  /** The model generates the text between `prefix` and `suffix`. An empty `suffix` leaves the continuation open. */
  | { readonly type: 'fill'; readonly prefix: string; readonly suffix: string }
  | { readonly type: 'tokens'; readonly tokens: readonly number[] };

/** A request for generated text, independent of any protocol. */
export interface GenerationRequest {
  /** Model name as the caller wrote it; the catalogue resolves it. */
  readonly model: string;
  readonly messages: readonly Message[];
  /** Present: the model completes this text, and `messages` is empty. */
  readonly prompt?: TextPrompt;
  readonly sampling: Sampling;
  readonly stop: StopConditions;
  /** Number of independent answers. */
  readonly choices: number;
  /** Limits the tokens of the answer, excluding thinking. 0: only the prompt is evaluated. */
  readonly maxTokens?: number;
  /** Limits the tokens of thinking and answer together. */
  readonly maxTotalTokens?: number;
  /** Present: the model thinks before it answers, if it can. */
  readonly thinking?: ThinkingOptions;
  /** Includes earlier reasoning (`Message.reasoning`) in the prompt. */
  readonly preserveThinking?: boolean;
  readonly toolUse?: ToolUseOptions;
  /** Tools of a request that forbids to call any. Only their names are checked. */
  readonly uncallableTools?: readonly Tool[];
  readonly serverTools?: ServerToolOptions;
  /** How the generation treats fenced Python blocks of its answer and thought. Absent: they are text. */
  readonly programBlocks?: ProgramBlockOptions;
  readonly outputFormat?: OutputFormat;
  /** Requests log probabilities for each token of the answer, with `top` alternatives (0 to 5). */
  readonly logprobs?: { readonly top: number };
  /** Requests the prompt's tokens as events of each choice, with the same for each token. */
  readonly promptLogprobs?: { readonly top: number };
  /** Fields unknown to Parley, as the caller wrote them. An upstream server may support them. */
  readonly extraFields?: Readonly<Record<string, unknown>>;
}
