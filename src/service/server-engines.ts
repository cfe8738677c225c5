import { readFile } from 'node:fs/promises';
import { familyNameOf } from '../catalogue/model.ts';
import type { ModelEntry, RemoteOptions } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import type { ServerKind } from '../core/server-kind.ts';
import type { Log } from '../core/telemetry.ts';
import { createCommandEngine } from '../engines/command/command-engine.ts';
import { createCommandServer } from '../engines/command/command-server.ts';
import type { CommandServer, ProgramUp } from '../engines/command/command-server.ts';
import { commandLine } from '../engines/command/presets.ts';
import type { CommandPreset, ProgramSettings } from '../engines/command/presets.ts';
import { createCompletionEngine } from '../engines/completion/completion-engine.ts';
import type { CompletionServer } from '../engines/completion/completion-engine.ts';
import type { TextEngine } from '../engines/engine.ts';
import { createPool } from '../engines/pool/pool.ts';
import type { Pool, PoolMember } from '../engines/pool/pool.ts';
import type { Supervised } from '../engines/supervisor.ts';
import { createUpstreamEngine } from '../engines/upstream/upstream-engine.ts';
import type { Clock } from '../lib/clock.ts';
import { present } from '../lib/present.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Upstream = Extract<ModelEntry['runs'], { readonly type: 'upstream' }>;

interface PoolNeeds {
  readonly environment: Environment;
  readonly log: Log;
  readonly clock: Clock;
  /** Hears of every piece of output. */
  readonly onToken: () => void;
}

/** A model's servers elsewhere, one or several, as one engine. */
export async function createServerPool(entry: ModelEntry, runs: Upstream, needs: PoolNeeds): Promise<Pool> {
  const { log, clock, onToken } = needs;
  return createPool({ members: await createServerMembers(entry, runs, needs), log, clock, onToken });
}

/** Each of a model's servers elsewhere as an engine of its own. */
export async function createServerMembers(
  entry: ModelEntry,
  runs: Upstream,
  { environment, log }: Pick<PoolNeeds, 'environment' | 'log'>,
): Promise<readonly PoolMember[]> {
  const apiKey = runs.apiKeyEnv === undefined ? undefined : environment[runs.apiKeyEnv];
  if (runs.apiKeyEnv !== undefined && !apiKey)
    log.warn('the variable with the key of a server is not set: it is asked without one', {
      model: entry.name,
      variable: runs.apiKeyEnv,
    });
  const template = await templateOf(entry, runs.remote);
  return runs.addresses.map((address) => ({
    address,
    engine: createServerEngine(entry, runs.remote, { url: address, apiKey, template, environment }),
  }));
}

interface Address {
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly template: string | undefined;
  /** Where proxies are named. Absent for servers of our own. */
  readonly environment?: Environment;
  readonly kind?: ServerKind | undefined;
}

function createServerEngine(
  entry: ModelEntry,
  { model, server, input, forward, timeouts }: RemoteOptions,
  { url, apiKey, template, environment, kind = server }: Address,
): TextEngine {
  const contextTokens = entry.isContextGuessed ? undefined : entry.contextTokens;
  const shared = present({ url, model, apiKey, contextTokens, timeouts });
  if (input === 'chat') return createUpstreamEngine({ ...shared, url, model, kind, forward, proxies: environment });
  return createCompletionEngine({
    ...shared,
    url,
    model,
    server: completionServer(entry, kind),
    chatTemplate: template,
    environment,
  });
}

function completionServer({ name }: ModelEntry, kind: ServerKind | undefined): CompletionServer {
  if (kind === 'llama-server' || kind === 'vllm' || kind === 'sglang') return kind;
  throw new ServiceError(
    'unsupported',
    `models.${name}.server must be llama-server, vllm or sglang where input is prompt: no other server is known to go on with tokens.`,
  );
}

async function templateOf({ name }: ModelEntry, { chatTemplate }: RemoteOptions): Promise<string | undefined> {
  if (chatTemplate === undefined) return undefined;
  try {
    return await readFile(chatTemplate, 'utf8');
  } catch (error) {
    throw new ServiceError('unsupported', `models.${name}.chatTemplate: the file cannot be read.`, { cause: error });
  }
}

export interface ProgramNeeds extends PoolNeeds {
  readonly runFolder: string;
  readonly threads: number;
  readonly sequences: number;
  readonly gpu: 'auto' | false;
  /** The program as another process of ours keeps it. Absent: it is started here. */
  readonly openServer?: () => Promise<Supervised<ProgramUp>>;
}

/** What is started for a model, and how it is spoken to. */
export interface ProgramPlan {
  readonly form: CommandPreset | readonly [string, ...string[]];
  /** Path, or a name along PATH, where it is not the form's own. */
  readonly program?: string | undefined;
  /** A model file of ours, or a name that the program knows. */
  readonly model: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly startMs?: number | undefined;
  readonly contextTokens: number;
  readonly remote: RemoteOptions;
}

const PRESETS: readonly string[] = ['llama-server', 'vllm', 'sglang'] satisfies readonly CommandPreset[];

const isPreset = (word: string): word is CommandPreset => PRESETS.includes(word);

/**
 * The plan of an entry that names a program.
 * @param modelFile Where its weights are, for an entry that has some.
 */
export function planProgram(
  { contextTokens }: ModelEntry,
  { program, remote }: Extract<ModelEntry['runs'], { readonly type: 'program' }>,
  modelFile: string | undefined,
): ProgramPlan {
  const [first = '', ...words] = [program.command].flat();
  // One word that is no preset is a program that takes its settings from `args`.
  const form = typeof program.command === 'string' && isPreset(first) ? first : ([first, ...words] as const);
  return { ...program, form, model: modelFile ?? remote.model, contextTokens, remote };
}

/** The plan of weights that the operator would rather have in llama.cpp's own server than in the embedded engine. */
export const preferredPlan = (
  entry: ModelEntry,
  program: string,
  modelFile: string,
): Omit<ProgramPlan, 'contextTokens'> => ({
  form: 'llama-server',
  program,
  model: modelFile,
  args: [],
  environment: {},
  remote: { model: entry.name, input: 'prompt', forward: [], timeouts: {}, family: familyNameOf(entry) },
});

/** A model's own server program as an engine. */
export async function createProgramEngine(
  entry: ModelEntry,
  plan: ProgramPlan,
  needs: ProgramNeeds,
): Promise<{ readonly engine: TextEngine; readonly server: Supervised<ProgramUp> }> {
  const { remote } = plan;
  const kind = typeof plan.form === 'string' ? plan.form : remote.server;
  const template = await templateOf(entry, remote);
  const settings: ProgramSettings = {
    ...present({ program: plan.program }),
    model: plan.model,
    servedName: remote.model,
    contextTokens: plan.contextTokens,
    sequences: needs.sequences,
    threads: needs.threads,
    gpu: needs.gpu,
    purpose: purposeOf(entry),
    more: plan.args,
    environment: plan.environment,
  };
  const start = (): CommandServer =>
    createCommandServer(
      {
        name: entry.name,
        line: (place) => commandLine(plan.form, settings, place),
        environment: needs.environment,
        runFolder: needs.runFolder,
        ...(plan.startMs === undefined ? {} : { times: { startMsMax: plan.startMs, waitMsMax: plan.startMs } }),
      },
      { log: needs.log },
    );
  const at = (url: string, apiKey: string): TextEngine =>
    createServerEngine(entry, remote, {
      url: remote.input === 'chat' ? `${url}/v1` : url,
      apiKey,
      template,
      kind,
    });
  // Only what a program cannot change is asked of it before it is up.
  const { capabilities } = at('http://127.0.0.1:9', '');
  const server = await (needs.openServer ?? start)();
  const engine = createCommandEngine({
    server,
    engineAt: at,
    capabilities,
    hasEmbeddings: entry.interfaces.includes('embeddings'),
    hasRanking: entry.interfaces.includes('rerank'),
    onToken: needs.onToken,
  });
  return { engine, server };
}

/** A model that makes vectors or scores, and nothing else, wants the program in another mode. */
function purposeOf({ interfaces }: ModelEntry): NonNullable<ProgramSettings['purpose']> {
  if (interfaces.every((each) => each === 'rerank')) return 'reranking';
  return interfaces.every((each) => each === 'embeddings') ? 'embeddings' : 'text';
}
