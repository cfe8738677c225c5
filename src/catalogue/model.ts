import type { Sampling } from '../core/request.ts';
import type { RegionId } from '../core/region.ts';
import type { Weights } from '../core/weights.ts';

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
  'rerank',
] as const;
export type ModelInterface = (typeof MODEL_INTERFACES)[number];

export type { Weights, WeightsSource } from '../core/weights.ts';

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
  /** It tends to repeat a call whose result it has already. */
  readonly repeatsCalls?: boolean;
  readonly interfaces: readonly ModelInterface[];
  /** Absent: every region. */
  readonly regions?: readonly RegionId[];
  /** Defaults for what a request leaves open. */
  readonly sampling: Sampling;
  readonly maxThinkingTokens?: number;
  /** Unix seconds; shown as `created`. */
  readonly created: number;
}

/** What a model is asked for: a research model is on the native path for research only. */
export const ownInterfaces = ({ interfaces }: Pick<ModelEntry, 'interfaces'>): readonly ModelInterface[] =>
  interfaces.includes('research') ? ['research'] : interfaces;

/** A name the caller used, resolved. */
export interface ResolvedModel {
  /** As asked: answers echo it. */
  readonly asked: string;
  readonly entry: ModelEntry;
}

/** A name that stands for a model: what real clients have in their configuration. */
export interface Alias {
  /** A name in which `*` stands for any text, also none. */
  readonly pattern: string;
  readonly model: string;
}

export interface Catalogue {
  /**
   * Exact name first, then aliases by pattern in order.
   * @param wanted.without Models that serve one of these are not named to a caller who asked for none that there is.
   * @throws ServiceError `model-not-found` naming the models there are; `model-not-supported` when the entry does not
   *   serve the interface; `forbidden` naming the regions that offer it.
   */
  resolve(
    name: string,
    wanted: { interface: ModelInterface; region: RegionId; without?: readonly ModelInterface[] },
  ): ResolvedModel;
  /** Exact name first, then aliases; asks neither for an interface nor for a region. */
  find(name: string): ModelEntry | undefined;
  /** Models as they stand in the catalogue, without aliases. */
  list(): readonly ModelEntry[];
  /** @throws ServiceError `not-found` naming the weights there are. */
  weights(id: string): Weights;
  /** All weights, also those that no model uses. */
  listWeights(): readonly Weights[];
}
