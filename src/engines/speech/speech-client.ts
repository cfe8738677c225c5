import { text as readText } from 'node:stream/consumers';
import { ServiceError } from '../../core/error.ts';
import { getAbortError } from '../get-abort-error.ts';
import type { EmbeddingRequest, Embeddings } from '../engine.ts';
import { EngineGoneError } from '../engine-gone-error.ts';
import { createSocketClient, type SocketAddress } from '../socket-client.ts';
import type { Recognition, RecognitionRequest, VoiceBlock, VoiceState } from '../speech-engine.ts';
import { encodeBinaryCall } from './binary-call.ts';
import type { RecognizeCallHeader, CallErrorBody, VoiceResponse, VoiceCallHeader } from './protocol.ts';

/**
 * Calls to the engine process (protocol.ts). They reject with a ServiceError, or EngineGoneError if the process exited.
 */
export interface SpeechClient {
  recognize(request: RecognitionRequest, signal: AbortSignal): Promise<Recognition>;
  detectVoice(samples: Float32Array, state: VoiceState | undefined, signal: AbortSignal): Promise<VoiceBlock>;
  embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings>;
  /** Rejects if the process does not answer in time. */
  ping(timeoutMs: number): Promise<void>;
  close(): void;
}

export function createSpeechClient(address: SocketAddress): SpeechClient {
  const socketClient = createSocketClient(address);

  const send = async (path: string, body: string | Uint8Array, signal: AbortSignal): Promise<unknown> => {
    if (signal.aborted) throw getAbortError(signal);
    const response = await socketClient.call('POST', path, body, signal);
    let answer: unknown;
    try {
      answer = JSON.parse(await readText(response));
    } catch (error) {
      throw signal.aborted ? getAbortError(signal) : new EngineGoneError(error);
    }
    if (response.statusCode === 200) return answer;
    // The body comes from Parley's own process, so it is not validated.
    const { kind, message, param, retryAfterSeconds, detail } = answer as CallErrorBody;
    throw new ServiceError(kind, message, { param, retryAfterSeconds, cause: detail });
  };

  return {
    async recognize({ samples, ...call }, signal) {
      const header: RecognizeCallHeader = call;
      return (await send('/recognize', encodeBinaryCall(header, samples), signal)) as Recognition;
    },
    async detectVoice(samples, state = new Float32Array(0), signal) {
      const header: VoiceCallHeader = { stateLength: state.length };
      const answer = (await send('/voice', encodeBinaryCall(header, state, samples), signal)) as VoiceResponse;
      return { probabilities: answer.probabilities, state: Float32Array.from(answer.state) };
    },
    embed: async (request, signal) => (await send('/embed', JSON.stringify(request), signal)) as Embeddings,
    async ping(timeoutMs) {
      await readText(await socketClient.call('GET', '/health', undefined, AbortSignal.timeout(timeoutMs)));
    },
    close: () => socketClient.close(),
  };
}
