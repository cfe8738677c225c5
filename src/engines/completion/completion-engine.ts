import { requirePromptInput } from '../engine-input.ts';
import { createLinkedAbort, type LinkedAbort } from '../../lib/linked-abort.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import type { EngineEvent } from '../../core/event.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import { CHOICES_MAX, QUEUE_LENGTH_MAX, QUEUE_WAIT_MS_MAX, WORKSPACE_SHARE } from '../../core/limits.ts';
import { UPSTREAM_QUERY_MS } from '../limits.ts';
import type { ServerKind } from '../../core/server-kind.ts';
import { getAbortError } from '../get-abort-error.ts';
import type { EngineRequest, EngineRun, TextEngine } from '../engine.ts';
import { createGrammarCompiler } from '../grammar-compiler.ts';
import { createSequencePool, type RunSequences, type SequencePool } from '../sequence-pool.ts';
import {
  createUpstreamClient,
  type UpstreamClient,
  type ProxyEnvironment,
  type UpstreamTimeouts,
} from '../remote/upstream-client.ts';
import { readErrorResponse } from '../remote/read-error-response.ts';
import { createTriggerMatcher } from '../trigger-matcher.ts';
import { raceWithAbort } from '../../lib/race-with-abort.ts';
import { startCall, type RunningCall } from './start-call.ts';
import { createChoiceRun, type ChoiceRun, type ChoiceRunDeps } from './choice-run.ts';
import { compilePhaseGrammars } from './compile-phase-grammars.ts';
import type { CompletionDialect, CompletionEvent, CompletionServerMetadata, PhaseCall } from './completion-dialect.ts';
import { joinSplitCharacters } from './join-split-characters.ts';
import { LLAMA_DIALECT } from './llama-dialect.ts';
import { createPromptTokenizer, type PromptTokenizer } from './prompt-tokenizer.ts';
import { SGLANG_DIALECT } from './sglang-dialect.ts';
import { mergeIterables } from '../merge-iterables.ts';
import { readAhead } from '../read-ahead.ts';
import { VLLM_DIALECT } from './vllm-dialect.ts';
import { findRequestProblem, type VocabularyBounds } from '../find-request-problem.ts';
import { ServiceError } from '../../core/error.ts';
import { createPromptTooLongError } from '../../core/generation-errors.ts';

/** Kinds of servers that can continue token ids. */
export type CompletionServerKind = Extract<ServerKind, 'llama-server' | 'vllm' | 'sglang'>;

export interface CompletionEngineOptions {
  /** Base address (http or https) of the server; its version (`/v1`) is dropped for the server's own routes. */
  readonly url: string;
  /** Model name at the server. */
  readonly model: string;
  readonly server: CompletionServerKind;
  /** Bearer token, sent only to this address. */
  readonly apiKey?: string | undefined;
  /** Tokens of prompt and answer together. Set to use fewer than the server has, or if the server does not report it. */
  readonly contextTokens?: number | undefined;
  /** Jinja template that replaces the server's own. */
  readonly chatTemplate?: string | undefined;
  /** Number of parallel answers. Set to use fewer than the server has, or if the server does not report it. */
  readonly sequences?: number | undefined;
  /** Share of the server's slots that a workspace keeps while others wait, from 0 to 1. */
  readonly workspaceShare?: number | undefined;
  readonly clock?: Pick<Clock, 'monotonic'> | undefined;
  readonly timeouts?: Partial<UpstreamTimeouts> | undefined;
  /** Environment variables that name proxies. Absent for servers that Parley itself runs. */
  readonly environment?: ProxyEnvironment | undefined;
}

const DIALECTS: Readonly<Record<CompletionServerKind, CompletionDialect>> = {
  'llama-server': LLAMA_DIALECT,
  vllm: VLLM_DIALECT,
  sglang: SGLANG_DIALECT,
};

interface ServerState {
  readonly metadata: CompletionServerMetadata;
  readonly tokenizer: PromptTokenizer;
}

/**
 * Creates an engine for one server that continues tokens: Parley renders and tokenizes prompts and parses the output, with
 * phases, triggers and stop sequences as in the embedded engine. A stop sequence of several token ids is found if the
 * server reports the tokens one by one, which it does not for tokens that end inside a character.
 *
 * The server's metadata is discovered once, with the first request or `loadModel()`; a failed discovery is repeated. The seed
 * is passed on, but a server's results may differ in the last bits with its other load, and so may the text.
 *
 * @throws ServiceError `upstream-failed` when the key contains characters that a header cannot hold.
 */
export function createCompletionEngine(options: CompletionEngineOptions): TextEngine {
  const { url, model, apiKey, timeouts, contextTokens, chatTemplate, sequences } = options;
  const { workspaceShare = WORKSPACE_SHARE, clock = systemClock } = options;
  const dialect = DIALECTS[options.server];
  const createClient = (): UpstreamClient =>
    createUpstreamClient({ url, apiKey, timeouts, proxies: options.environment });
  const generationClient = createClient();
  // A separate client: a llama-server has few threads, so few connections may stay open for short calls.
  const metadataClient = createClient();
  const serverTokenizer = dialect.createTokenizer(metadataClient, model);
  const grammars = createGrammarCompiler();
  let slots: number | undefined;

  const discover = async (): Promise<ServerState> => {
    const metadata = await dialect.discover({
      client: metadataClient,
      tokenizer: serverTokenizer,
      model,
      contextTokens,
      chatTemplate,
    });
    slots = metadata.slots;
    return { metadata, tokenizer: createPromptTokenizer(serverTokenizer, metadata) };
  };
  let pendingDiscovery: Promise<ServerState> | undefined;
  const getServer = (): Promise<ServerState> => {
    pendingDiscovery ??= discover().catch((error: unknown) => {
      pendingDiscovery = undefined;
      throw error;
    });
    return pendingDiscovery;
  };

  const capabilities: TextEngine['capabilities'] = {
    input: 'prompt',
    ...dialect.capabilities,
    phases: true,
    cache: false,
    get choicesMax() {
      const knownMax = Math.min(slots ?? Infinity, sequences ?? Infinity);
      // A server that has not reported its slots may have only one; vLLM and SGLang queue calls themselves.
      return Number.isFinite(knownMax) ? knownMax : dialect === LLAMA_DIALECT ? 1 : CHOICES_MAX;
    },
  };

  // Each call holds a thread of llama-server, which has few more than slots: with many waiting calls, it stops responding.
  const slotPool = createSequencePool({
    getTotal: () => (slots === undefined && sequences === undefined ? Infinity : capabilities.choicesMax),
    workspaceShare,
    hasLiveReserve: true,
    queueLengthMax: QUEUE_LENGTH_MAX,
    queueWaitMsMax: QUEUE_WAIT_MS_MAX,
    clock,
  });

  const startChoices = async (requestAbort: LinkedAbort, request: EngineRequest): Promise<EngineRun> => {
    const { signal } = requestAbort;
    const { metadata, tokenizer } = await raceWithAbort(getServer(), signal, getAbortError);
    checkRequest(request, { ...capabilities, vocabularySize: metadata.model.vocabularySize });
    const [prompt, { gbnfByPhase, isWide }, endTokens, markers] = await Promise.all([
      tokenizer.tokenizeInput(requirePromptInput(request.input), signal),
      compilePhaseGrammars(request, { compile: grammars.compile, signal }),
      findSingleTokens(tokenizer, request.stop.special),
      findSingleTokens(tokenizer, request.markers),
    ]);
    checkPromptLength(prompt.length, metadata.model.contextTokens);
    const runDeps = {
      request,
      prompt,
      contextTokens: metadata.model.contextTokens,
      triggers: createTriggerMatcher(request.phases),
      gbnfByPhase,
      endTokens: [...endTokens.keys()],
      markers,
      tokenizer,
      signal,
      penalizesPrompt: dialect.penalizesPrompt,
      async startCall(call: PhaseCall) {
        const deps = { client: generationClient, dialect, metadata, model, requestId: request.id, signal };
        const running = await startCall(call, deps);
        const { decodeTokenLists } = dialect;
        if (!call.promptLogprobs || !decodeTokenLists) return running;
        const batches = completePromptTexts(running.batches, {
          ids: call.prompt,
          decodeTokenLists: (lists) => decodeTokenLists(metadataClient, lists, signal),
        });
        return { ...running, batches };
      },
    };
    const first = startChoice(0, { ...runDeps, slotPool });
    await first.acquired;
    // A workspace that may not take more slots now starts with those that it got; its other choices follow, however long
    // that takes: the answer has started.
    const others = Array.from({ length: request.choices - 1 }, (_, i) =>
      startChoice(i + 1, { ...runDeps, slotPool, hasStarted: true }),
    );
    const choices = [first, ...others];
    const { acceptance } = await first.call;
    await Promise.all(choices.filter(({ hasSlot }) => hasSlot()).map(({ call }) => call));
    const answerTokensMax = metadata.model.contextTokens - prompt.length;
    return {
      promptTokens: prompt.length,
      ...omitNullish({ cachedTokens: acceptance.cachedTokens }),
      maxTokens: Math.min(request.maxTokens ?? answerTokensMax, answerTokensMax),
      ...(isWide ? { hasWideGrammar: true } : {}),
      batches: mergeRunEvents(choices, { requestAbort, promptTokens: prompt.length }),
    };
  };

  return {
    state: 'ready',
    capabilities,
    async start(request, signal) {
      if (signal.aborted) throw getAbortError(signal);
      const group = createLinkedAbort(signal);
      try {
        return await startChoices(group, request);
      } catch (error) {
        // All choices start or none.
        group.abort(error);
        group.unlink();
        throw error;
      }
    },
    loadModel: async () => (await getServer()).metadata.model,
    async probe(signal) {
      const call = await metadataClient.get('/health', { signal, responseMs: UPSTREAM_QUERY_MS });
      call.timer.stop();
      if (call.response.statusCode !== 200) throw await readErrorResponse(call, metadataClient.errors);
      call.response.resume();
    },
    async countTokens(input) {
      return (await (await getServer()).tokenizer.tokenizeForCount(requirePromptInput(input))).length;
    },
    async tokenize(input) {
      return await serverTokenizer.getTokenTexts(
        await (await getServer()).tokenizer.tokenizeForCount(requirePromptInput(input)),
      );
    },
    async close() {
      generationClient.close();
      metadataClient.close();
      await grammars.close();
    },
  };
}

/** Completes the texts of the prompt's tokens, as `joinSplitCharacters` does. */
async function* completePromptTexts(
  batches: RunningCall['batches'],
  options: Parameters<typeof joinSplitCharacters>[1],
): AsyncGenerator<readonly CompletionEvent[], void> {
  const complete = async (event: CompletionEvent): Promise<CompletionEvent> =>
    event.type === 'prompt' ? { ...event, logprobs: await joinSplitCharacters(event.logprobs, options) } : event;
  for await (const batch of batches) yield await Promise.all(batch.map(complete));
}

/** A choice that has a slot of the server, or waits for one. */
interface StartedChoice {
  readonly run: ChoiceRun;
  hasSlot(): boolean;
  /** Resolves when it has its first slot. */
  readonly acquired: Promise<void>;
  /** Its first call. */
  readonly call: Promise<RunningCall>;
  release(): void;
}

function startChoice(
  index: number,
  {
    slotPool,
    hasStarted = false,
    ...deps
  }: Omit<ChoiceRunDeps, 'slot'> & { readonly slotPool: SequencePool; readonly hasStarted?: boolean },
): StartedChoice {
  const { request, signal } = deps;
  let slot: RunSequences | undefined;
  const run = createChoiceRun(index, {
    ...deps,
    slot: { waitWhileInterrupted: (aborted) => slot?.waitWhileInterrupted(aborted) },
  });
  const acquire = async (): Promise<void> => {
    const { owner } = request;
    const { canInterrupt, onInterrupt, isUnread } = run;
    slot = await slotPool.acquire({ owner, choices: 1, canInterrupt, onInterrupt, isUnread, hasStarted }, signal);
    // The caller may have left while the slot was granted.
    if (signal.aborted) slot.release();
    signal.addEventListener('abort', slot.release, { once: true });
  };
  const acquired = acquire();
  const call = acquired.then(() => run.startNextCall());
  // The reader of the choice gets its failure.
  call.catch(() => undefined);
  return { run, acquired, call, hasSlot: () => slot !== undefined, release: () => slot?.release() };
}

async function* readChoice({ run, call, release }: StartedChoice): AsyncGenerator<readonly EngineEvent[], void> {
  try {
    yield* run.readEvents(await call);
  } finally {
    release();
  }
}

async function* mergeRunEvents(
  choices: readonly StartedChoice[],
  { requestAbort, promptTokens }: { readonly requestAbort: LinkedAbort; readonly promptTokens: number },
): AsyncGenerator<readonly EngineEvent[], void> {
  const sumOver = (getValue: (run: ChoiceRun) => number): number =>
    choices.reduce((all, { run }) => all + getValue(run), 0);
  try {
    yield* mergeIterables(choices.map((choice) => readAhead(readChoice(choice))));
    const reasoningTokens = sumOver(({ output }) => output.thoughtTokens);
    yield [
      {
        type: 'end',
        usage: {
          promptTokens,
          cachedTokens: Math.min(choices[0]?.run.cachedTokens ?? 0, promptTokens),
          completionTokens: sumOver(({ output }) => output.totalTokens),
          ...(reasoningTokens > 0 ? { reasoningTokens } : {}),
        },
      },
    ];
  } finally {
    // Cancels the calls that still run.
    requestAbort.abort(undefined);
    requestAbort.unlink();
  }
}

/** Returns the texts that are a single token, by the token's id. */
async function findSingleTokens(
  tokens: PromptTokenizer,
  texts: readonly string[] = [],
): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>();
  for (const text of texts) {
    const [first, ...more] = await tokens.tokenizeSegments([{ text, special: true }]);
    if (first !== undefined && more.length === 0) found.set(first, text);
  }
  return found;
}

/** Limits of the model and its server. */
interface RequestBounds extends VocabularyBounds {
  readonly grammar: boolean;
}

/** @throws ServiceError for values that the server would refuse late or not at all. */
function checkRequest(request: EngineRequest, { choicesMax, vocabularySize, grammar }: RequestBounds): void {
  const { choices, sampling, stop, phases } = request;
  const biasedTokens = [...(sampling.logitBias?.keys() ?? [])];
  const problem = findRequestProblem({ choices, biasedTokens, stop }, { choicesMax, vocabularySize });
  if (problem) throw createInvalidError(problem.message, problem.param);
  if (!grammar && phases.some((phase) => phase.grammar))
    throw new ServiceError('unsupported', 'The model of this request runs on a server without support for grammars.');
}

/** @throws ServiceError when the prompt is empty or fills the context. */
function checkPromptLength(promptTokens: number, contextTokens: number): void {
  if (promptTokens === 0) throw createInvalidError('the prompt is empty', undefined);
  if (promptTokens < contextTokens) return;
  throw createPromptTooLongError(promptTokens, contextTokens);
}

const createInvalidError = (message: string, param: string | undefined): ServiceError =>
  new ServiceError('invalid-request', message, { param });
