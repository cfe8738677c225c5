import { text as readText } from 'node:stream/consumers';
import { ServiceError } from '../../core/error.ts';
import { abortReason } from '../abort-reason.ts';
import type { EmbeddingRequest, Embeddings } from '../engine.ts';
import { EngineGoneError } from '../engine-gone.ts';
import { createSocketCalls } from '../socket-calls.ts';
import type { SocketAddress } from '../socket-calls.ts';
import type { Recognition, RecognitionRequest, VoiceBlock, VoiceState } from '../speech-engine.ts';
import { packCall } from './call-bytes.ts';
import type { RecognizeCall, Refusal, VoiceAnswer, VoiceCall } from './protocol.ts';

/** Calls to a process, in the words of protocol.ts. They reject with a ServiceError, EngineGoneError when it went away. */
export interface SpeechClient {
  recognize(request: RecognitionRequest, signal: AbortSignal): Promise<Recognition>;
  detectVoice(samples: Float32Array, state: VoiceState | undefined, signal: AbortSignal): Promise<VoiceBlock>;
  embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings>;
  /** Rejects when the process does not answer in time. */
  ping(timeoutMs: number): Promise<void>;
  close(): void;
}

export function createSpeechClient(address: SocketAddress): SpeechClient {
  const calls = createSocketCalls(address);

  const ask = async (path: string, body: string | Uint8Array, signal: AbortSignal): Promise<unknown> => {
    if (signal.aborted) throw abortReason(signal);
    const response = await calls.call('POST', path, body, signal);
    let answer: unknown;
    try {
      answer = JSON.parse(await readText(response));
    } catch (error) {
      throw signal.aborted ? abortReason(signal) : new EngineGoneError(error);
    }
    if (response.statusCode === 200) return answer;
    /** Parser of what our own process writes. */
    const { kind, message, param, retryAfterSeconds, detail } = answer as Refusal;
    throw new ServiceError(kind, message, { param, retryAfterSeconds, cause: detail });
  };

  return {
    async recognize({ samples, ...call }, signal) {
      const head: RecognizeCall = call;
      return (await ask('/recognize', packCall(head, samples), signal)) as Recognition;
    },
    async detectVoice(samples, state = new Float32Array(0), signal) {
      const head: VoiceCall = { stateLength: state.length };
      const answer = (await ask('/voice', packCall(head, state, samples), signal)) as VoiceAnswer;
      return { probabilities: answer.probabilities, state: Float32Array.from(answer.state) };
    },
    embed: async (request, signal) => (await ask('/embed', JSON.stringify(request), signal)) as Embeddings,
    async ping(timeoutMs) {
      await readText(await calls.call('GET', '/health', undefined, AbortSignal.timeout(timeoutMs)));
    },
    close: () => calls.close(),
  };
}
