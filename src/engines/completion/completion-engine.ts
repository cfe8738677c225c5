import { assert } from '../../lib/assert.ts';
import { linkedAbort } from '../../lib/linked-abort.ts';
import type { LinkedAbort } from '../../lib/linked-abort.ts';
import { present } from '../../lib/present.ts';
import type { EngineEvent } from '../../core/event.ts';
import { CHOICES_MAX, QUEUE_PLACES_MAX, QUEUE_WAIT_MS_MAX, UPSTREAM_ASK_MS } from '../../core/limits.ts';
import type { ServerKind } from '../../core/server-kind.ts';
import { abortReason } from '../abort-reason.ts';
import { fitsBeside } from '../priority.ts';
import type { EngineInput, EngineRequest, EngineStart, TextEngine } from '../engine.ts';
import { createGrammarCompiler } from '../grammar-compiler.ts';
import type { GrammarCompiler } from '../grammar-compiler.ts';
import { createPlaces } from '../places.ts';
import { createConnection } from '../remote/connection.ts';
import type { Connection, ProxyEnvironment, RemoteTimeouts } from '../remote/connection.ts';
import { refusalOf } from '../remote/refusal.ts';
import { createTriggers } from '../triggers.ts';
import { unlessAborted } from '../unless-aborted.ts';
import { beginCall } from './begin-call.ts';
import type { RunningCall } from './begin-call.ts';
import { checkLength, checkRequest } from './check-request.ts';
import { createChoiceRun } from './choice-run.ts';
import type { ChoiceRun } from './choice-run.ts';
import { compilePhases } from './compile-phases.ts';
import type { Dialect, ServerFacts } from './dialect.ts';
import { LLAMA_SERVER } from './llama-server.ts';
import { createPromptTokens } from './prompt-tokens.ts';
import type { PromptTokens } from './prompt-tokens.ts';
import { SGLANG } from './sglang.ts';
import { sideBySide } from './side-by-side.ts';
import { VLLM } from './vllm.ts';

/** Servers that go on with token ids. */
export type CompletionServer = Extract<ServerKind, 'llama-server' | 'vllm' | 'sglang'>;

export interface CompletionOptions {
  /** Base address (http or https) of the server; a version at its end (`/v1`) is left out where the server's own paths are meant. */
  readonly url: string;
  /** The model's name there. */
  readonly model: string;
  readonly server: CompletionServer;
  /** Sent as a bearer token to this address and nowhere else. */
  readonly apiKey?: string | undefined;
  /** Tokens of prompt and answer together, where fewer are to be used than the server has, or it does not tell. */
  readonly contextTokens?: number | undefined;
  /** A Jinja template, in the place of the server's own. */
  readonly chatTemplate?: string | undefined;
  /** Answers side by side, where fewer are to be used than the server has, or it does not tell. */
  readonly sequences?: number | undefined;
  readonly timeouts?: Partial<RemoteTimeouts> | undefined;
  /** Where proxies are named. Absent for servers of our own. */
  readonly environment?: ProxyEnvironment | undefined;
  /** Several engines may share one, which whoever made it closes. Absent: it has its own. */
  readonly grammars?: GrammarCompiler | undefined;
}

const DIALECTS: Readonly<Record<CompletionServer, Dialect>> = {
  'llama-server': LLAMA_SERVER,
  vllm: VLLM,
  sglang: SGLANG,
};

interface Known {
  readonly facts: ServerFacts;
  readonly tokens: PromptTokens;
}

/**
 * One server that goes on with tokens, as an engine: prompts are rendered and made into tokens here, and what it says is
 * read as the embedded engine's is, phases, triggers and stop sequences included. A stop sequence of several token ids is
 * found where the server tells them one by one; where its tokens end inside a character it does not.
 *
 * What the server tells of itself is asked once, with the first request or `model()`; a failure is asked again. The seed
 * is passed on, but what a server computes may differ in its last bits with what else it does, and so may the text.
 *
 * @throws ServiceError `upstream-failed` when the key cannot stand in a header.
 */
export function createCompletionEngine(options: CompletionOptions): TextEngine {
  const { url, model, apiKey, timeouts, contextTokens, chatTemplate, sequences } = options;
  const dialect = DIALECTS[options.server];
  const connect = (): Connection => createConnection({ url, apiKey, timeouts, proxies: options.environment });
  const connection = connect();
  // Of their own, so that no more connections are kept for short calls than there are of these at a time.
  const aside = connect();
  const server = dialect.tokens(aside, model);
  const grammars = options.grammars ?? createGrammarCompiler();
  let slots: number | undefined;

  const discover = async (): Promise<Known> => {
    const facts = await dialect.discover({ connection: aside, tokens: server, model, contextTokens, chatTemplate });
    slots = facts.slots;
    return { facts, tokens: createPromptTokens(server, facts) };
  };
  let asked: Promise<Known> | undefined;
  const known = (): Promise<Known> => {
    asked ??= discover().catch((error: unknown) => {
      asked = undefined;
      throw error;
    });
    return asked;
  };

  const capabilities: TextEngine['capabilities'] = {
    input: 'prompt',
    ...dialect.capabilities,
    phases: true,
    cache: false,
    get choicesMax() {
      const most = Math.min(slots ?? Infinity, sequences ?? Infinity);
      // Before a server has told of its slots there may be one only; the others queue by themselves.
      return Number.isFinite(most) ? most : dialect === LLAMA_SERVER ? 1 : CHOICES_MAX;
    },
  };

  // Each call holds a thread of llama.cpp's server, which has few more than slots: with many waiting there, it answers nobody.
  const places = createPlaces({
    fits({ owner, count, taken }) {
      const total = slots === undefined && sequences === undefined ? Infinity : capabilities.choicesMax;
      return fitsBeside(owner, { wanted: count, taken, total });
    },
    queuePlacesMax: QUEUE_PLACES_MAX,
    queueWaitMsMax: QUEUE_WAIT_MS_MAX,
  });

  const startIn = async (group: LinkedAbort, request: EngineRequest): Promise<EngineStart> => {
    const { signal } = group;
    const { facts, tokens } = await unlessAborted(known(), signal);
    checkRequest(request, { ...capabilities, vocabularySize: facts.model.vocabularySize });
    const [prompt, gbnf, ends, markers] = await Promise.all([
      tokens.ofInput(promptInput(request.input), signal),
      compilePhases(request, { compile: grammars.compile, signal }),
      singleTokens(tokens, request.stop.special),
      singleTokens(tokens, request.markers),
    ]);
    checkLength(prompt.length, facts.model.contextTokens);
    const free = await places.take(request.choices, { owner: request.owner, signal });
    // The caller may have gone while the places were on their way.
    if (signal.aborted) {
      free();
      throw abortReason(signal);
    }
    signal.addEventListener('abort', free, { once: true });
    const needs = {
      request,
      prompt,
      contextTokens: facts.model.contextTokens,
      triggers: createTriggers(request.phases),
      gbnf,
      endTokens: [...ends.keys()],
      markers,
      tokens,
      signal,
      begin: (call: Parameters<typeof beginCall>[0]) =>
        beginCall(call, { connection, dialect, facts, model, requestId: request.id, signal }),
    };
    const runs = Array.from({ length: request.choices }, (_, index) => createChoiceRun(index, needs));
    const begun = await Promise.all(runs.map(async (run) => ({ run, call: await run.begin() })));
    const room = facts.model.contextTokens - prompt.length;
    return {
      promptTokens: prompt.length,
      ...present({ cachedTokens: begun[0]?.call.taken.cachedTokens }),
      maxTokens: Math.min(request.maxTokens ?? room, room),
      batches: eventsOf(begun, { group, promptTokens: prompt.length }),
    };
  };

  return {
    state: 'ready',
    capabilities,
    async start(request, signal) {
      if (signal.aborted) throw abortReason(signal);
      const group = linkedAbort(signal);
      try {
        return await startIn(group, request);
      } catch (error) {
        // All choices start or none.
        group.abort(error);
        group.unlink();
        throw error;
      }
    },
    model: async () => (await known()).facts.model,
    async probe(signal) {
      const call = await aside.get('/health', { signal, answerMs: UPSTREAM_ASK_MS });
      call.watch.rest();
      if (call.response.statusCode !== 200) throw await refusalOf(call, aside.faults);
      call.response.resume();
    },
    async countTokens(input) {
      return (await (await known()).tokens.toTell(promptInput(input))).length;
    },
    async tokenize(input) {
      return await server.texts(await (await known()).tokens.toTell(promptInput(input)));
    },
    async close() {
      connection.close();
      aside.close();
      if (!options.grammars) await grammars.close();
    },
  };
}

interface Begun {
  readonly run: ChoiceRun;
  readonly call: RunningCall;
}

async function* eventsOf(
  begun: readonly Begun[],
  { group, promptTokens }: { readonly group: LinkedAbort; readonly promptTokens: number },
): AsyncGenerator<readonly EngineEvent[], void> {
  const sum = (of: (run: ChoiceRun) => number): number => begun.reduce((all, { run }) => all + of(run), 0);
  try {
    yield* sideBySide(begun.map(({ run, call }) => run.events(call)));
    const reasoningTokens = sum(({ output }) => output.thoughtTokens);
    yield [
      {
        type: 'end',
        usage: {
          promptTokens,
          cachedTokens: Math.min(begun[0]?.run.cachedTokens ?? 0, promptTokens),
          completionTokens: sum(({ output }) => output.tokens),
          ...(reasoningTokens > 0 ? { reasoningTokens } : {}),
        },
      },
    ];
  } finally {
    // Whatever still runs is nobody's.
    group.abort(undefined);
    group.unlink();
  }
}

function promptInput(input: EngineInput): Exclude<EngineInput, { readonly type: 'messages' }> {
  assert(input.type !== 'messages', 'a prompt engine was given messages');
  return input;
}

/** Those of the texts that are one token, by that token. */
async function singleTokens(tokens: PromptTokens, texts: readonly string[] = []): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>();
  for (const text of texts) {
    const [first, ...more] = await tokens.ofSegments([{ text, special: true }]);
    if (first !== undefined && more.length === 0) found.set(first, text);
  }
  return found;
}
