import type { Abilities } from '../core/abilities.ts';
import type { Owner } from '../core/context.ts';
import type { DeploymentRecord } from '../core/deployment.ts';
import type { Sampling } from '../core/request.ts';
import type { ServerKind } from '../core/server-kind.ts';
import type { RegionId } from '../core/region.ts';
import type { Weights, WeightsTask } from '../core/weights.ts';

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

export type { Abilities } from '../core/abilities.ts';

/** How a server that runs a model is spoken to. */
export interface RemoteOptions {
  /** The model's name there. */
  readonly model: string;
  /** Absent: it is asked. */
  readonly server?: ServerKind;
  readonly input: 'chat' | 'prompt';
  /** Path of a file. */
  readonly chatTemplate?: string;
  /** Fields of callers' bodies that it knows besides those of its kind. */
  readonly forward: readonly string[];
  readonly timeouts: {
    readonly connectMs?: number;
    readonly firstTokenMs?: number;
    readonly idleMs?: number;
  };
  readonly family: string;
}

/** A server program that we start. */
export interface ProgramOptions {
  /** A preset's name or a path, or the program and its words. */
  readonly command: string | readonly string[];
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly startMs?: number;
}

export interface ModelEntry {
  readonly name: string;
  readonly description: string;
  /** What runs it. `none`: declared by the specification, no engine yet; `reason` says why. */
  readonly runs:
    | { readonly type: 'weights'; readonly weights: string; readonly family: string }
    /** The engine that is installed on demand: it hears speech, or makes vectors, and writes no text. */
    | { readonly type: 'onnx'; readonly weights: string; readonly task: WeightsTask }
    | {
        readonly type: 'upstream';
        readonly addresses: readonly string[];
        readonly apiKeyEnv?: string;
        readonly remote: RemoteOptions;
      }
    | {
        readonly type: 'program';
        readonly program: ProgramOptions;
        /** The model file that it is given, where we have it. */
        readonly weights?: string;
        readonly remote: RemoteOptions;
      }
    | { readonly type: 'none'; readonly reason: string };
  readonly contextTokens: number;
  /** The catalogue does not say how much context there is: the figure above is a guess, or what its engine has told. */
  readonly isContextGuessed?: true;
  readonly abilities: Abilities;
  /** It tends to repeat a call whose result it has already. */
  readonly repeatsCalls?: boolean;
  readonly interfaces: readonly ModelInterface[];
  /** Absent: every region. */
  readonly regions?: readonly RegionId[];
  /** Defaults for what a request leaves open. */
  readonly sampling: Sampling;
  readonly maxThinkingTokens?: number;
  /** A request that does not say is to be thought about; absent: it is not. */
  readonly thinksByDefault?: true;
  /** Which languages a translation model takes (wire.md E2.4). Absent: all. */
  readonly languages?: 'all' | 'lite';
  /** In a chat stream each chunk of a translation has the whole translation so far. */
  readonly cumulative?: boolean;
  /** Unix seconds; shown as `created`. */
  readonly created: number;
}

/** What a model is asked for: a research model is on the native path for research only. */
export const ownInterfaces = ({ interfaces }: Pick<ModelEntry, 'interfaces'>): readonly ModelInterface[] =>
  interfaces.includes('research') ? ['research'] : interfaces;

/** The weights that an entry needs on this machine. */
export const ownWeightsOf = ({ runs }: Pick<ModelEntry, 'runs'>): string | undefined =>
  runs.type === 'upstream' || runs.type === 'none' ? undefined : runs.weights;

/** Of the model's template, tags and formats; a chat engine has no use for it. */
export function familyNameOf({ runs }: Pick<ModelEntry, 'runs'>): string {
  if (runs.type === 'none' || runs.type === 'onnx') return 'template';
  return runs.type === 'weights' ? runs.family : runs.remote.family;
}

/** Fields that the operator says its server knows. */
export const forwardedOf = ({ runs }: Pick<ModelEntry, 'runs'>): readonly string[] =>
  runs.type === 'upstream' || runs.type === 'program' ? runs.remote.forward : [];

/** A name the caller used, resolved. */
export interface ResolvedModel {
  /** As asked: answers echo it. */
  readonly asked: string;
  readonly entry: ModelEntry;
  /** Present where the name is one of the caller's deployments; `entry` has its name then, and what was asked for it. */
  readonly deployed?: Deployed;
}

/** A deployment and the model that it is of, as the catalogue has that. */
export interface Deployed {
  readonly record: DeploymentRecord;
  readonly base: ModelEntry;
}

/** Whose deployments are models, too. */
export type ModelPlace = Pick<Owner, 'region' | 'workspace'>;

/** Deployments by name, as this process knows them. */
export interface KnownDeployments {
  find(place: ModelPlace, name: string): DeploymentRecord | undefined;
  /** In the order of their making. */
  list(place: ModelPlace): readonly DeploymentRecord[];
}

/** A name that stands for a model: what real clients have in their configuration. */
export interface Alias {
  /** A name in which `*` stands for any text, also none. */
  readonly pattern: string;
  readonly model: string;
}

export interface Catalogue {
  /**
   * A deployment of the owner's first, then an exact name, then aliases by pattern in order.
   * @param wanted.without Models that serve one of these are not named to a caller who asked for none that there is.
   * @throws ServiceError `model-not-found` naming the models there are; `model-not-supported` when the entry does not
   *   serve the interface; `forbidden` naming the regions that offer it; `overloaded` for a deployment of which nothing
   *   serves, with its status.
   */
  resolve(
    name: string,
    wanted: { interface: ModelInterface; owner: ModelPlace; without?: readonly ModelInterface[] },
  ): ResolvedModel;
  /**
   * As `resolve`, but asks neither for an interface nor for a region, nor whether anything serves.
   * @param place Whose deployments count; absent: nobody's.
   */
  find(name: string, place?: ModelPlace): ModelEntry | undefined;
  /** Models as they stand in the catalogue, without aliases, and behind them the deployments of a place. */
  list(place?: ModelPlace): readonly ModelEntry[];
  /** @throws ServiceError `not-found` naming the weights there are. */
  weights(id: string): Weights;
  /** All weights, also those that no model uses. */
  listWeights(): readonly Weights[];
}
