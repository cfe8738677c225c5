import type { EngineEvent } from '../core/event.ts';
import type { Message } from '../core/message.ts';
import type { Phase, PromptSegment } from '../core/prompt.ts';
import type { OutputFormat, Sampling, Stop, ToolUse } from '../core/request.ts';

/** What an engine can do; a request for anything else is refused by name, not ignored. */
export interface EngineCapabilities {
  /** `prompt`: we render the template and parse the output. `chat`: the engine does both. */
  readonly input: 'prompt' | 'chat';
  /** `free`: of tokens that no grammar chose from. */
  readonly logprobs: boolean | 'free';
  readonly grammar: boolean;
  readonly phases: boolean;
  /** Honours `PromptSegment.cacheMark`. */
  readonly cache: boolean;
  /** Answers of one request that it can run side by side. */
  readonly choicesMax: number;
}

/** What is known of a loaded model. */
export interface LoadedModel {
  /** Tokens of prompt and answer together. */
  readonly contextTokens: number;
  /** Vocabulary size; token ids are below it. */
  readonly vocabularySize: number;
  /** The model file's chat template (Jinja), where it has one. */
  readonly chatTemplate?: string;
  /** Texts of the special tokens: no caller's text may become one of them. */
  readonly specialTokens: readonly string[];
  /** Texts that templates may ask for. */
  readonly bosToken: string;
  readonly eosToken: string;
}

export type EngineInput =
  | { readonly type: 'segments'; readonly segments: readonly PromptSegment[] }
  | { readonly type: 'tokens'; readonly tokens: readonly number[] }
  | {
      readonly type: 'messages';
      readonly messages: readonly Message[];
      /** Earlier thoughts go to the model; otherwise nobody is told them. */
      readonly preserveThinking?: boolean;
      readonly toolUse?: ToolUse;
      readonly outputFormat?: OutputFormat;
    };

/** Whose request it is: queues are fair between them, and no state is shared across workspaces. */
export interface EngineOwner {
  readonly workspace: string;
  readonly key: string;
}

export interface EngineRequest {
  /** For logs on both sides. */
  readonly id: string;
  readonly owner: EngineOwner;
  readonly input: EngineInput;
  readonly sampling: Sampling;
  readonly stop: Stop;
  /** Independent answers; choice i uses seed + i. All start together or none. */
  readonly choices: number;
  /** Limits all phases but thoughts. Absent: what is left of the context. */
  readonly maxTokens?: number;
  /** Limits all phases together. */
  readonly maxTotalTokens?: number;
  readonly logprobs?: { readonly top: number };
  /** Empty means one free answer. */
  readonly phases: readonly Phase[];
  /** Texts of special tokens that are told as text where they are generated; others are structure and say nothing. */
  readonly markers?: readonly string[];
}

export interface EngineStart {
  /** Absent for upstreams that tell only at the end. */
  readonly promptTokens?: number;
  readonly cachedTokens?: number;
  /** The answer limit that is in force, where the engine had to lower the wish. */
  readonly maxTokens?: number;
  /** Ends after the `end` event. A failure is a rejected iteration, never an event. Stopping early cancels the run. */
  readonly batches: AsyncIterable<readonly EngineEvent[]>;
}

export interface TextEngine {
  readonly capabilities: EngineCapabilities;
  /** `starting`: a call now would wait. `failing`: it would be refused, and why stands in the log. */
  readonly state: 'ready' | 'starting' | 'failing';
  /**
   * Resolves when the engine has taken the request in (all its sequences are held; prefill may still be running).
   *
   * What it must refuse, it refuses here, as a ServiceError: too long (`invalid-request` with both counts), queue full
   * or waited too long or restarting (`overloaded`), a key's own share used up (`rate-limited`), a schema that it
   * cannot enforce (`invalid-request` naming its field).
   */
  start(request: EngineRequest, signal: AbortSignal): Promise<EngineStart>;
  /** What is known of the model; loads it if that is still to be done. */
  model(): Promise<LoadedModel>;
  /** Number of tokens the input would take. Text without a special segment is no prompt: no token begins it. */
  countTokens(input: EngineInput): Promise<number>;
  close(): Promise<void>;
}
