import type { Abilities } from '../core/abilities.ts';
import type { Tenant } from '../core/context.ts';
import type { DeploymentRecord } from '../core/deployment.ts';
import type { Sampling } from '../core/request.ts';
import type { ServerKind } from '../core/server-kind.ts';
import type { RegionId } from '../core/region.ts';
import type { Weights, WeightsTask } from '../core/weights.ts';

/** APIs that a catalogue entry can support. A request through another one fails with `model-not-supported`. */
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

/** A LoRA adapter, which changes the answers of the model that it was trained for. It is served as a model of its own. */
export interface Adapter {
  readonly name: string;
  /** Model whose entry names the adapter. */
  readonly base: string;
  /** GGUF file; for vLLM a folder, or the name of a repository. */
  readonly path: string;
  /** Factor of its effect. Absent: 1. */
  readonly scale?: number;
}

/** How to communicate with a server that runs a model. */
export interface RemoteOptions {
  /** Name of the model on the server. */
  readonly model: string;
  /** Name of the adapter on the server that requests select instead of the model. */
  readonly adapter?: string;
  /** Absent: detected by a query. */
  readonly server?: ServerKind;
  readonly input: 'chat' | 'prompt';
  /** Path of a template file. */
  readonly chatTemplate?: string;
  /** Answers that each server runs at once. */
  readonly sequences?: number;
  /** Request fields that the server supports besides those of its kind. */
  readonly forward: readonly string[];
  readonly timeouts: {
    readonly connectMs?: number;
    readonly firstTokenMs?: number;
    readonly idleMs?: number;
  };
  readonly family: string;
}

/** A server program that Parley starts. */
export interface ProgramOptions {
  /** Name of a preset, path of a program, or program and arguments. */
  readonly command: string | readonly string[];
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Projector file with which llama-server reads images. */
  readonly projectorFile?: string;
  /** Adapters that the program loads: vLLM all those of a model, llama-server one. */
  readonly adapters?: readonly Adapter[];
  readonly startMs?: number;
}

export interface ModelEntry {
  readonly name: string;
  readonly description: string;
  /** The runner of the model. `none`: declared without an engine, for the given reason. */
  readonly runner:
    | {
        readonly type: 'weights';
        readonly weights: string;
        readonly family: string;
        /** Path of a template file that replaces the templates of the model file. */
        readonly chatTemplate?: string;
        readonly adapter?: Adapter;
        /** Most tokens of an evaluation that are predicted from repetitions. */
        readonly draftTokens?: number;
      }
    /** The engine that is installed on demand, for speech recognition or embeddings. */
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
        /** Local model file that the program loads, if any. */
        readonly weights?: string;
        readonly remote: RemoteOptions;
      }
    | { readonly type: 'none'; readonly reason: string };
  readonly contextTokens: number;
  /** No context length is configured: `contextTokens` is a guess, or was reported by the engine. */
  readonly isContextGuessed?: true;
  readonly abilities: Abilities;
  /** The model tends to repeat a call whose result it already has. */
  readonly repeatsCalls?: boolean;
  readonly interfaces: readonly ModelInterface[];
  /** Absent: all regions. */
  readonly regions?: readonly RegionId[];
  /** Defaults for parameters that a request does not set. */
  readonly sampling: Sampling;
  readonly maxThinkingTokens?: number;
  /** Requests that do not decide use thinking. Absent: they do not. */
  readonly thinksByDefault?: true;
  /** Supported languages of a translation model (docs/wire/dashscope-native.md#translation-languages). Absent: all. */
  readonly languages?: 'all' | 'lite';
  /** Each chunk of a streamed translation contains the whole translation so far. */
  readonly cumulative?: boolean;
  /** Unix seconds, returned as `created` by model lists. */
  readonly created: number;
}

/** Returns the interfaces for which a model is listed. A research model supports `native` for research only. */
export const getEffectiveInterfaces = ({ interfaces }: Pick<ModelEntry, 'interfaces'>): readonly ModelInterface[] =>
  interfaces.includes('research') ? ['research'] : interfaces;

/** Returns the id of the weights that an entry needs on this machine. */
export const getWeightsId = ({ runner }: Pick<ModelEntry, 'runner'>): string | undefined =>
  runner.type === 'upstream' || runner.type === 'none' ? undefined : runner.weights;

/** Returns the LoRA adapters that the engine of an entry loads. */
export function getLoadedAdapters({ runner }: Pick<ModelEntry, 'runner'>): readonly Adapter[] {
  if (runner.type === 'weights') return runner.adapter ? [runner.adapter] : [];
  return (runner.type === 'program' && runner.program.adapters) || [];
}

/** Returns the family of the model's template, tags and formats. Chat servers ignore it. */
export function getFamilyName({ runner }: Pick<ModelEntry, 'runner'>): string {
  if (runner.type === 'none' || runner.type === 'onnx') return 'template';
  return runner.type === 'weights' ? runner.family : runner.remote.family;
}

/** Returns the request fields that the operator declared as supported by the server. */
export const getForwardedFields = ({ runner }: Pick<ModelEntry, 'runner'>): readonly string[] =>
  runner.type === 'upstream' || runner.type === 'program' ? runner.remote.forward : [];

/** The model that a requested name stands for. */
export interface ResolvedModel {
  /** As requested by the caller; responses repeat it. */
  readonly requestedName: string;
  readonly entry: ModelEntry;
  /** Present if the name is a deployment of the caller. `entry` then has its name and limits. */
  readonly deployment?: ResolvedDeployment;
}

/** A deployment and its base model from the catalogue. */
export interface ResolvedDeployment {
  readonly record: DeploymentRecord;
  readonly base: ModelEntry;
}

/** Tenant whose deployments count as models. */
export type CatalogueScope = Tenant;

/** Finds deployments by name, from the state known to this process. */
export interface DeploymentLookup {
  find(scope: CatalogueScope, name: string): DeploymentRecord | undefined;
  /** In the order of creation. */
  list(scope: CatalogueScope): readonly DeploymentRecord[];
}

/** A model name from the configuration of existing clients that stands for another model. */
export interface Alias {
  /** Name in which `*` matches any text, including the empty one. */
  readonly pattern: string;
  readonly model: string;
}

export interface Catalogue {
  /**
   * Resolves a name: first as a deployment of the owner, then as an exact name, then by alias patterns in order.
   * @param wanted `exceptInterfaces`: models with one of these interfaces are not listed in the error for an unknown
   * name.
   * @throws ServiceError `model-not-found` with the models that can be called; `model-not-supported` if the model does not
   * support the interface; `forbidden` with the regions that offer the model; `overloaded` for a deployment without
   * ready capacity.
   */
  resolve(
    name: string,
    wanted: { interface: ModelInterface; owner: CatalogueScope; exceptInterfaces?: readonly ModelInterface[] },
  ): Promise<ResolvedModel>;
  /**
   * Finds a model as `resolve` does, without checking interface, region or capacity.
   * @param scope Tenant whose deployments count. Absent: none.
   */
  find(name: string, scope?: CatalogueScope): ModelEntry | undefined;
  /** Lists the models of the catalogue without aliases, followed by the deployments of the tenant. */
  list(scope?: CatalogueScope): readonly ModelEntry[];
  /** Lists as `list` does, without models that do not answer when they are called, such as those without weights. */
  listCallable(scope?: CatalogueScope): Promise<readonly ModelEntry[]>;
  /** Finds weights by id. @throws ServiceError `not-found` with the available ids. */
  weights(id: string): Weights;
  /** Lists all weights, used or not. */
  listWeights(): readonly Weights[];
}
