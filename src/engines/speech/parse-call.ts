import { VOICE_FRAME_SAMPLES } from '../speech-engine.ts';
import type { RecognitionRequest } from '../speech-engine.ts';
import { listOf, objectOf, parseEmbeddingRequest, parseOwner, text } from '../call-fields.ts';
import type { EmbeddingRequest } from '../engine.ts';
import { unpackCall } from './call-bytes.ts';
import type { RecognizeCall, VoiceCall } from './protocol.ts';

/**
 * A call as it came over the socket. Our own client sends nothing else; people with curl do.
 * @throws RangeError naming the field and the rule.
 */
export function parseRecognition(
  bytes: Uint8Array,
  { samplesMax }: { readonly samplesMax: number },
): RecognitionRequest {
  const { head, floats } = unpackCall(bytes);
  const call = objectOf(head, 'the call');
  text(call['id'], 'id');
  parseOwner(call);
  for (const [at, each] of listOf(call['languages'], 'languages').entries()) text(each, `languages[${at}]`);
  if (call['context'] !== undefined) text(call['context'], 'context');
  for (const [at, each] of listOf(call['hotwords'], 'hotwords').entries()) parseHotword(each, `hotwords[${at}]`);
  if (typeof call['wantsWords'] !== 'boolean') throw new RangeError('wantsWords must be true or false');
  if (floats.length === 0 || floats.length > samplesMax)
    throw new RangeError(`samples must be 1 to ${samplesMax}, got ${floats.length}`);
  return { ...(head as RecognizeCall), samples: floats };
}

/** @throws RangeError as `parseRecognition`. */
export function parseVoice(bytes: Uint8Array): {
  readonly samples: Float32Array;
  readonly state: Float32Array | undefined;
} {
  const { head, floats } = unpackCall(bytes);
  const { stateLength } = objectOf(head, 'the call') as unknown as VoiceCall;
  if (!Number.isInteger(stateLength) || stateLength < 0 || stateLength > floats.length)
    throw new RangeError('stateLength must be a whole number from 0, at most as many as there are');
  const samples = floats.subarray(stateLength);
  if (samples.length === 0 || samples.length % VOICE_FRAME_SAMPLES !== 0)
    throw new RangeError(`samples must be whole frames of ${VOICE_FRAME_SAMPLES}, got ${samples.length}`);
  return { samples, state: stateLength > 0 ? floats.subarray(0, stateLength) : undefined };
}

/** @throws RangeError as `parseRecognition`. */
export function parseEmbedding(bytes: Uint8Array): EmbeddingRequest {
  return parseEmbeddingRequest(JSON.parse(Buffer.from(bytes).toString('utf8')));
}

function parseHotword(value: unknown, at: string): void {
  const hotword = objectOf(value, at);
  text(hotword['text'], `${at}.text`);
  const weight = hotword['weight'];
  if (typeof weight !== 'number' || !(weight >= 1 && weight <= 5)) throw new RangeError(`${at}.weight must be 1 to 5`);
  if (hotword['language'] !== undefined) text(hotword['language'], `${at}.language`);
}
