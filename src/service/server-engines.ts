import {
  getFamilyName,
  getLoadedAdapters,
  type Adapter,
  type ModelEntry,
  type RemoteOptions,
} from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import type { ServerKind } from '../core/server-kind.ts';
import type { Log } from '../core/telemetry.ts';
import { createCommandEngine } from '../engines/command/command-engine.ts';
import { createCommandServer, type RunningProgram } from '../engines/command/command-server.ts';
import { buildCommandLine, type CommandPreset, type ProgramSettings } from '../engines/command/command-line.ts';
import { createCompletionEngine, type CompletionServerKind } from '../engines/completion/completion-engine.ts';
import type { TextEngine } from '../engines/engine.ts';
import { createPool, type Pool, type PoolEndpoint, type PoolShare } from '../engines/pool/pool.ts';
import { shareSequences } from '../engines/shared-start.ts';
import type { StartGuard } from '../engines/start-guard.ts';
import type { SupervisedProcess } from '../engines/supervisor.ts';
import { createUpstreamEngine } from '../engines/upstream/upstream-engine.ts';
import type { Clock } from '../lib/clock.ts';
import { omitNullish } from '../lib/omit-nullish.ts';
import { readAdapterRank } from '../weights/adapter-folder.ts';
import { findTemplateFile, readTemplateFile } from './chat-template-file.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Upstream = Extract<ModelEntry['runner'], { readonly type: 'upstream' }>;

interface ServerPoolDeps {
  readonly environment: Environment;
  readonly log: Log;
  readonly clock: Clock;
  /** Share of a model's sequences that a workspace keeps while others wait, from 0 to 1. */
  readonly workspaceShare: number;
  /** Called for every piece of output. */
  readonly onToken: () => void;
}

/** Creates one engine over all upstream servers of a model. */
export async function createServerPool(entry: ModelEntry, runs: Upstream, deps: ServerPoolDeps): Promise<Pool> {
  const { log, clock, workspaceShare, onToken } = deps;
  return createPool({
    endpoints: await createServerMembers(entry, runs, deps),
    share: getPoolShare(runs.remote, workspaceShare),
    log,
    model: entry.name,
    clock,
    onToken,
  });
}

/**
 * Returns how a pool shares the sequences of its servers. With prompt input, each server's engine shares its own slots, and
 * can interrupt answers.
 */
export const getPoolShare = ({ input, sequences }: RemoteOptions, workspaceShare: number): PoolShare | undefined =>
  input === 'chat' && sequences !== undefined ? { memberSequences: sequences, workspaceShare } : undefined;

/** Creates one engine for each upstream server of a model. */
export async function createServerMembers(
  entry: ModelEntry,
  runs: Upstream,
  { environment, log, workspaceShare }: Pick<ServerPoolDeps, 'environment' | 'log' | 'workspaceShare'>,
): Promise<readonly PoolEndpoint[]> {
  const apiKey = runs.apiKeyEnv === undefined ? undefined : environment[runs.apiKeyEnv];
  if (runs.apiKeyEnv !== undefined && !apiKey)
    log.warn('API key variable of upstream server not set; requests carry no key', {
      model: entry.name,
      variable: runs.apiKeyEnv,
    });
  const template = await readTemplateFile(entry, runs.remote.chatTemplate);
  return runs.addresses.map((address) => ({
    address,
    engine: createServerEngine(entry, runs.remote, { url: address, apiKey, template, environment, workspaceShare }),
  }));
}

interface ServerEndpoint {
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly template: string | undefined;
  /** Share of the sequences that a workspace keeps while others wait, from 0 to 1. */
  readonly workspaceShare: number;
  /** Environment variables, which can name proxies. Absent for local servers. */
  readonly environment?: Environment;
  readonly kind?: ServerKind | undefined;
}

function createServerEngine(
  entry: ModelEntry,
  { adapter, model: base, server, input, forward, timeouts, sequences }: RemoteOptions,
  { url, apiKey, template, environment, workspaceShare, kind = server }: ServerEndpoint,
): TextEngine {
  const model = adapter ?? base;
  const contextTokens = entry.isContextGuessed ? undefined : entry.contextTokens;
  const options = omitNullish({ url, model, apiKey, contextTokens, timeouts });
  if (input === 'chat') return createUpstreamEngine({ ...options, url, model, kind, forward, proxies: environment });
  return createCompletionEngine({
    ...options,
    url,
    model,
    server: requireCompletionServer(entry, kind),
    chatTemplate: template,
    environment,
    workspaceShare,
    sequences,
  });
}

function requireCompletionServer({ name }: ModelEntry, kind: ServerKind | undefined): CompletionServerKind {
  if (kind === 'llama-server' || kind === 'vllm' || kind === 'sglang') return kind;
  throw new ServiceError(
    'unsupported',
    `models.${name}.server must be llama-server, vllm or sglang when input is prompt: Parley can send token prompts to these servers only.`,
  );
}

export interface ProgramEngineDeps extends ServerPoolDeps {
  readonly runFolder: string;
  readonly threads: number;
  readonly sequences: number;
  readonly gpu: 'auto' | false;
  /** Decides before each start of the program whether it may load its model file. */
  readonly guard?: StartGuard | undefined;
  /** Connects to the server program that the host process runs. Absent: the program is started here. */
  readonly openServer?: () => Promise<SupervisedProcess<RunningProgram>>;
}

/** Command and settings of a model's server program, and how to talk to it. */
export interface ProgramPlan {
  readonly command: CommandPreset | readonly [string, ...string[]];
  /** Path or name of the program when it differs from the preset's. */
  readonly program?: string | undefined;
  /** Path of a local model file, or a model name that the program knows. */
  readonly model: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Projector file with which llama-server reads images. */
  readonly projectorFile?: string | undefined;
  /** LoRA adapters that the program loads. */
  readonly adapters?: readonly Adapter[] | undefined;
  readonly startMs?: number | undefined;
  /** Absent: the program chooses, and reports what it chose. */
  readonly contextTokens?: number | undefined;
  readonly remote: RemoteOptions;
}

const COMMAND_PRESETS: readonly string[] = ['llama-server', 'vllm', 'sglang'] satisfies readonly CommandPreset[];

const isPreset = (word: string): word is CommandPreset => COMMAND_PRESETS.includes(word);

/**
 * Plans the server program of an entry that names one.
 * @param modelFile Path of the entry's weights, if it has local weights.
 */
export function planProgram(
  entry: ModelEntry,
  { program, remote }: Extract<ModelEntry['runner'], { readonly type: 'program' }>,
  modelFile: string | undefined,
): ProgramPlan {
  const chatTemplate = remote.input === 'prompt' ? findTemplateFile(entry, modelFile) : undefined;
  const [firstWord = '', ...otherWords] = [program.command].flat();
  // A single word that is no preset is a program that takes its settings from `args`.
  const command =
    typeof program.command === 'string' && isPreset(firstWord) ? firstWord : ([firstWord, ...otherWords] as const);
  // A command of the operator may contain `{context}`.
  const contextTokens = entry.isContextGuessed && typeof command === 'string' ? undefined : entry.contextTokens;
  return {
    ...program,
    command,
    model: modelFile ?? remote.model,
    contextTokens,
    remote: { ...remote, ...omitNullish({ chatTemplate }) },
  };
}

/** Plans llama.cpp's server for local weights, when the operator prefers it to the embedded engine. */
export const planPreferredServer = (
  entry: ModelEntry,
  program: string,
  modelFile: string,
): Omit<ProgramPlan, 'contextTokens'> => ({
  command: 'llama-server',
  program,
  model: modelFile,
  args: [],
  environment: {},
  adapters: getLoadedAdapters(entry),
  remote: {
    model: entry.name,
    input: 'prompt',
    forward: [],
    timeouts: {},
    family: getFamilyName(entry),
    ...omitNullish({ chatTemplate: findTemplateFile(entry, modelFile) }),
  },
});

/** Creates an engine that runs a model's own server program. */
export async function createProgramEngine(
  entry: ModelEntry,
  plan: ProgramPlan,
  deps: ProgramEngineDeps,
): Promise<{ readonly engine: TextEngine; readonly server: SupervisedProcess<RunningProgram> }> {
  const { remote } = plan;
  const kind = typeof plan.command === 'string' ? plan.command : remote.server;
  const template = await readTemplateFile(entry, remote.chatTemplate);
  const ranks =
    plan.command === 'vllm' ? await Promise.all((plan.adapters ?? []).map(({ path }) => readAdapterRank(path))) : [];
  const settings: ProgramSettings = {
    ...omitNullish({ program: plan.program, projectorFile: plan.projectorFile, adapters: plan.adapters }),
    adapterRank: Math.max(0, ...ranks.map((rank) => rank ?? 0)),
    model: plan.model,
    servedName: remote.model,
    contextTokens: plan.contextTokens,
    sequences: deps.sequences,
    threads: deps.threads,
    gpu: deps.gpu,
    purpose: getProgramPurpose(entry),
    extraArguments: plan.args,
    environment: plan.environment,
  };
  const start = (): SupervisedProcess<RunningProgram> =>
    createCommandServer(
      {
        name: entry.name,
        createLine: (launchParameters) => buildCommandLine(plan.command, settings, launchParameters),
        environment: deps.environment,
        runFolder: deps.runFolder,
        guard: deps.guard,
        ...(plan.startMs === undefined ? {} : { times: { startMsMax: plan.startMs, waitMsMax: plan.startMs } }),
      },
      { log: deps.log },
    );
  const createEngineAt = (url: string, apiKey: string): TextEngine =>
    createServerEngine(entry, remote, {
      url: remote.input === 'chat' ? `${url}/v1` : url,
      apiKey,
      template,
      workspaceShare: deps.workspaceShare,
      kind,
    });
  // Before the program runs, the engine is asked only for capabilities, which do not depend on its URL.
  const { capabilities } = createEngineAt('http://127.0.0.1:9', '');
  const server = await (deps.openServer ?? start)();
  const programEngine = createCommandEngine({
    server,
    createEngineAt,
    capabilities,
    hasEmbeddings: entry.interfaces.includes('embeddings'),
    hasRanking: entry.interfaces.includes('rerank'),
    onToken: deps.onToken,
  });
  const { input, sequences } = remote;
  const { workspaceShare, clock } = deps;
  const isShared = input === 'chat' && sequences !== undefined;
  const engine = isShared ? shareSequences(programEngine, { sequences, workspaceShare }, clock) : programEngine;
  return { engine, server };
}

/** Returns the mode of the program: a model with embeddings alone or ranking alone needs its own mode. */
function getProgramPurpose({ interfaces }: ModelEntry): NonNullable<ProgramSettings['purpose']> {
  if (interfaces.every((each) => each === 'rerank')) return 'reranking';
  return interfaces.every((each) => each === 'embeddings') ? 'embeddings' : 'text';
}
