import type { JsonSchema } from './grammar.ts';
import type { Message, Tool } from './message.ts';
import type { ServerTools } from './server-tools.ts';

/** How tokens are chosen. Absent means the model's default from the catalogue. Ranges: core/limits.ts. */
export interface Sampling {
  readonly temperature?: number;
  readonly topP?: number;
  /** 0 switches it off. */
  readonly topK?: number;
  readonly minP?: number;
  readonly repetitionPenalty?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  /** Token id to an addition to its logit, −100 to 100. */
  readonly logitBias?: ReadonlyMap<number, number>;
  /** Same seed and same other parameters give the same text, whatever else runs. */
  readonly seed?: number;
}

/** Where generation ends besides the model's own end. The matched text is not part of the answer. */
export interface Stop {
  readonly strings: readonly string[];
  /** Each a sequence of token ids; most are of length one. */
  readonly tokens: readonly (readonly number[])[];
  /** Texts of special tokens that end an answer besides the model's own end; from the family, never from a caller. */
  readonly special?: readonly string[];
}

export const NO_STOP: Stop = { strings: [], tokens: [] };

/** How long to think: `budgetTokens` decides, else `effort`, else the model's own maximum. */
export interface ThinkingWish {
  readonly budgetTokens?: number;
  readonly effort?: 'high' | 'max';
}

/** What the model may call. A caller who forbids calls leaves it out. */
export interface ToolUse {
  /** Not empty; names are unique. */
  readonly tools: readonly Tool[];
  /** `required`: at least one call; a name: a call of that tool. */
  readonly choice: 'auto' | 'required' | { readonly name: string };
  /** Several calls in one answer; otherwise at most one. */
  readonly isParallel: boolean;
  /** Arguments that hold arrays or objects are told as they come; otherwise at once. */
  readonly streamsComplex: boolean;
}

/** What the text of the answer must be. */
export type OutputFormat =
  | { readonly type: 'json-object' }
  /** `field`: where the schema stands in the request. */
  | { readonly type: 'json-schema'; readonly name: string; readonly schema: JsonSchema; readonly field: string };

/** What is completed where there is no conversation. All of it is text, also what reads like a special token. */
export type TextPrompt =
  | { readonly type: 'text'; readonly text: string }
  /** What stands between the two; `suffix` may be empty, which leaves open where it leads. */
  | { readonly type: 'fill'; readonly prefix: string; readonly suffix: string }
  | { readonly type: 'tokens'; readonly tokens: readonly number[] };

/** One request for text, in no protocol's words. */
export interface GenerationRequest {
  /** As the caller wrote it; the catalogue resolves it. */
  readonly model: string;
  readonly messages: readonly Message[];
  /** Present: it is completed as it stands, and `messages` is empty. */
  readonly prompt?: TextPrompt;
  readonly sampling: Sampling;
  readonly stop: Stop;
  /** Number of independent answers. */
  readonly choices: number;
  /** Tokens of the answer, without the thought. */
  readonly maxTokens?: number;
  /** Tokens of thought and answer together. */
  readonly maxTotalTokens?: number;
  /** Present: the model thinks before it answers, where it can. */
  readonly thinking?: ThinkingWish;
  /** Earlier thoughts (`Message.reasoning`) go into the prompt. */
  readonly preserveThinking?: boolean;
  readonly toolUse?: ToolUse;
  readonly serverTools?: ServerTools;
  readonly outputFormat?: OutputFormat;
  /** Log probabilities for each token of the answer, with this many alternatives (0 to 5). */
  readonly logprobs?: { readonly top: number };
  /** Fields that we do not know, as the caller wrote them: a server that runs the model may. */
  readonly further?: Readonly<Record<string, unknown>>;
}
