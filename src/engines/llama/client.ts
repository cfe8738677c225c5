import type { IncomingMessage } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { ServiceError } from '../../core/error.ts';
import type { EngineEvent, TokenLogprob, Usage } from '../../core/event.ts';
import { LOGPROB_MIN } from '../../core/limits.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import { getAbortError } from '../get-abort-error.ts';
import { EngineGoneError } from '../engine-gone-error.ts';
import type {
  EmbeddingRequest,
  Embeddings,
  EngineOwner,
  EngineRequest,
  EngineRun,
  RankingRequest,
  Rankings,
  TokenText,
} from '../engine.ts';
import { createSocketClient, type SocketAddress } from '../socket-client.ts';
import type {
  TokenCounts,
  FailureKind,
  GenerateCall,
  OutputLine,
  EngineRefusal,
  SchedulerHealth,
  TokenInput,
  LineAlternative,
  LineLogprob,
} from './protocol.ts';
import { createEngineFailedError, ENGINE_FAILED_MESSAGE } from '../../core/generation-errors.ts';

export interface LlamaClient {
  generate(request: EngineRequest, signal: AbortSignal): Promise<EngineRun>;
  countTokens(input: TokenInput, owner?: EngineOwner): Promise<number>;
  tokenize(input: TokenInput, owner?: EngineOwner): Promise<readonly TokenText[]>;
  embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings>;
  rank(request: RankingRequest, signal: AbortSignal): Promise<Rankings>;
  /** Returns the load of the process. Rejects if it does not respond in time. */
  readHealth(timeoutMs: number): Promise<SchedulerHealth>;
  /** Rejects if the process does not respond in time. */
  ping(timeoutMs: number): Promise<void>;
  close(): void;
}

export interface LlamaClientOptions extends SocketAddress {
  /** Called for every piece of output; the /ready endpoint relies on it. */
  readonly onToken?: () => void;
}

export function createLlamaClient({ socket, token, onToken }: LlamaClientOptions): LlamaClient {
  const socketClient = createSocketClient({ socket, token });
  const send = (method: string, path: string, body: unknown, signal?: AbortSignal): Promise<IncomingMessage> =>
    socketClient.call(method, path, body === undefined ? undefined : JSON.stringify(body), signal);

  /** Sends a request with a single JSON response. */
  const requestJson = async (path: string, body: unknown, signal?: AbortSignal): Promise<unknown> => {
    if (signal?.aborted) throw getAbortError(signal);
    const response = await send('POST', path, body, signal);
    if (response.statusCode !== 200) throw await readRefusal(response);
    try {
      return JSON.parse(await readText(response));
    } catch (error) {
      throw signal?.aborted ? getAbortError(signal) : new EngineGoneError(error);
    }
  };

  // The answer comes from a process of the same version, so it needs no validation.
  const readHealth = async (timeoutMs: number): Promise<SchedulerHealth> => {
    const response = await send('GET', '/health', undefined, AbortSignal.timeout(timeoutMs));
    return JSON.parse(await readText(response)) as SchedulerHealth;
  };

  return {
    async generate(request, signal) {
      if (signal.aborted) throw getAbortError(signal);
      const response = await send('POST', '/generate', toCall(request), signal);
      if (response.statusCode !== 200) throw await readRefusal(response);
      const lines = readLines(response, signal);
      const firstBatch = await lines.next();
      const firstLine = firstBatch.done ? undefined : firstBatch.value[0];
      if (firstBatch.done || firstLine?.type !== 'started')
        throw new EngineGoneError('the response started without the line `started`');
      return {
        promptTokens: firstLine.promptTokens,
        cachedTokens: firstLine.cachedTokens,
        maxTokens: firstLine.maxTokens,
        ...(firstLine.hasWideGrammar ? { hasWideGrammar: true } : {}),
        batches: toEvents(firstBatch.value.slice(1), lines, response, onToken),
      };
    },
    async countTokens(input, owner) {
      return ((await requestJson('/count', { input, owner })) as { tokens: number }).tokens;
    },
    async tokenize(input, owner) {
      return ((await requestJson('/tokenize', { input, owner })) as { tokens: readonly TokenText[] }).tokens;
    },
    embed: async (request, signal) => (await requestJson('/embed', request, signal)) as Embeddings,
    rank: async (request, signal) => (await requestJson('/rank', request, signal)) as Rankings,
    readHealth,
    async ping(timeoutMs) {
      await readHealth(timeoutMs);
    },
    close: () => socketClient.close(),
  };
}

function toCall({ input, sampling, ...rest }: EngineRequest): GenerateCall {
  if (input.type === 'messages') throw new ServiceError('internal', 'a prompt engine received messages');
  const { logitBias, ...others } = sampling;
  return { ...rest, input, sampling: { ...others, ...(logitBias ? { logitBias: [...logitBias] } : {}) } };
}

/** Yields the lines of each socket read as one batch. Throws if the stream ends without its last line. */
async function* readLines(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<readonly OutputLine[], void> {
  let rest = '';
  let isFinished = false;
  response.setEncoding('utf8');
  try {
    for await (const chunk of response) {
      const texts = (rest + String(chunk)).split('\n');
      rest = texts.pop() ?? '';
      if (texts.length === 0) continue;
      const lines = texts.map((line) => JSON.parse(line) as OutputLine);
      isFinished = lines.at(-1)?.type === 'finished';
      yield lines;
    }
  } catch (error) {
    if (signal.aborted) throw getAbortError(signal);
    if (error instanceof ServiceError) throw error;
    throw new EngineGoneError(error);
  }
  if (!isFinished)
    throw signal.aborted
      ? getAbortError(signal)
      : new EngineGoneError('the response ended without the line `finished`');
}

async function* toEvents(
  firstLines: readonly OutputLine[],
  lines: AsyncGenerator<readonly OutputLine[], void>,
  response: IncomingMessage,
  onToken: (() => void) | undefined,
): AsyncGenerator<readonly EngineEvent[], void> {
  try {
    if (firstLines.length > 0) yield firstLines.map(toEvent);
    for await (const batch of lines) {
      onToken?.();
      yield batch.map(toEvent);
    }
  } finally {
    // A consumer that stops early closes the connection, which cancels the run in the engine.
    if (!response.complete) response.destroy();
  }
}

function toEvent(line: OutputLine): EngineEvent {
  switch (line.type) {
    case 'prompt':
      return { type: 'prompt', choice: line.choice, text: line.text, logprobs: line.logprobs.map(toPromptLogprob) };
    case 'token':
      return {
        type: 'text',
        choice: line.choice,
        text: line.text,
        tokens: line.tokens,
        phase: line.phase,
        ...(line.logprobs ? { logprobs: line.logprobs.map(toLogprob) } : {}),
      };
    case 'choice-finished':
      return {
        type: 'choice-end',
        choice: line.choice,
        reason: line.reason,
        ...(line.stop === undefined ? {} : { stop: line.stop }),
      };
    case 'finished':
      return { type: 'end', usage: toUsage(line.counts) };
    case 'failed':
      if (line.kind !== 'internal')
        throw new ServiceError(ERROR_KIND_BY_FAILURE[line.kind], line.message, { param: line.param });
      throw createEngineFailedError(new Error(line.message));
    case 'started':
      throw createEngineFailedError('started twice');
  }
}

const toUsage = (counts: TokenCounts): Usage => ({
  promptTokens: counts.promptTokens,
  cachedTokens: counts.cachedTokens,
  completionTokens: counts.completionTokens,
  ...omitNullish({
    cacheCreationTokens: counts.cacheCreationTokens,
    usesExplicitCache: counts.usesExplicitCache,
  }),
  ...(counts.thoughtTokens > 0 ? { reasoningTokens: counts.thoughtTokens } : {}),
});

const decoder = new TextDecoder();

const toAlternative = ({ bytes, logprob }: LineAlternative) => ({
  token: decoder.decode(Uint8Array.from(bytes)),
  bytes,
  logprob: logprob === null || logprob < LOGPROB_MIN ? undefined : logprob,
});

const toLogprob = (token: LineLogprob): TokenLogprob => ({
  ...toAlternative(token),
  top: token.top.map(toAlternative),
});

/** Small log probabilities are kept: programs sum up those of a prompt. */
const toPromptLogprob = (token: LineLogprob): TokenLogprob => ({
  ...toAlternative(token),
  logprob: token.logprob ?? undefined,
  top: token.top.map(toAlternative),
});

const ERROR_KIND_BY_FAILURE: Record<FailureKind, ConstructorParameters<typeof ServiceError>[0]> = {
  'too-long': 'context-exceeded',
  invalid: 'invalid-request',
  'queue-full': 'overloaded',
  'queue-wait': 'overloaded',
  'key-share': 'rate-limited',
  'slow-reader': 'timeout',
  unsupported: 'unsupported',
  draining: 'overloaded',
  internal: 'engine-failed',
};

async function readRefusal(response: IncomingMessage): Promise<ServiceError> {
  const refusal = JSON.parse(await readText(response)) as EngineRefusal;
  return new ServiceError(
    ERROR_KIND_BY_FAILURE[refusal.kind],
    refusal.kind === 'internal' ? ENGINE_FAILED_MESSAGE : `${refusal.message}`,
    {
      retryAfterSeconds: refusal.retryAfterSeconds,
      param: refusal.param,
      tokenOverflow: refusal.excess,
      cause: refusal,
    },
  );
}
