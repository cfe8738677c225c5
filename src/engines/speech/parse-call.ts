import { VOICE_FRAME_SAMPLES, type RecognitionRequest } from '../speech-engine.ts';
import { parseArray, parseObject, parseEmbeddingRequest, checkOwner, checkString } from '../field-checks.ts';
import type { EmbeddingRequest } from '../engine.ts';
import { decodeBinaryCall } from './binary-call.ts';
import type { RecognizeCallHeader, VoiceCallHeader } from './protocol.ts';

/**
 * Parses the body of a recognition call. Parley's client always sends valid bodies; the checks are for manual calls.
 * @throws RangeError that names the field and the rule.
 */
export function parseRecognitionCall(
  bytes: Uint8Array,
  { samplesMax }: { readonly samplesMax: number },
): RecognitionRequest {
  const { header, floats } = decodeBinaryCall(bytes);
  const call = parseObject(header, 'the call');
  checkString(call['id'], 'id');
  checkOwner(call);
  for (const [at, each] of parseArray(call['languages'], 'languages').entries()) checkString(each, `languages[${at}]`);
  if (call['task'] !== undefined && call['task'] !== 'transcribe' && call['task'] !== 'translate')
    throw new RangeError('task must be transcribe or translate');
  if (call['context'] !== undefined) checkString(call['context'], 'context');
  for (const [at, each] of parseArray(call['hotwords'], 'hotwords').entries()) parseHotword(each, `hotwords[${at}]`);
  if (typeof call['includeWords'] !== 'boolean') throw new RangeError('includeWords must be true or false');
  if (call['isLive'] !== undefined && typeof call['isLive'] !== 'boolean')
    throw new RangeError('isLive must be true or false');
  if (floats.length === 0 || floats.length > samplesMax)
    throw new RangeError(`samples must be 1 to ${samplesMax}, got ${floats.length}`);
  return { ...(header as RecognizeCallHeader), samples: floats };
}

/** Parses the body of a voice detection call. @throws RangeError like `parseRecognitionCall`. */
export function parseVoiceCall(bytes: Uint8Array): {
  readonly samples: Float32Array;
  readonly state: Float32Array | undefined;
} {
  const { header, floats } = decodeBinaryCall(bytes);
  const { stateLength } = parseObject(header, 'the call') as unknown as VoiceCallHeader;
  if (!Number.isInteger(stateLength) || stateLength < 0 || stateLength > floats.length)
    throw new RangeError('stateLength must be an integer from 0 to the number of floats');
  const samples = floats.subarray(stateLength);
  if (samples.length === 0 || samples.length % VOICE_FRAME_SAMPLES !== 0)
    throw new RangeError(`samples must be complete frames of ${VOICE_FRAME_SAMPLES}, got ${samples.length}`);
  return { samples, state: stateLength > 0 ? floats.subarray(0, stateLength) : undefined };
}

/** Parses the body of an embedding call. @throws RangeError like `parseRecognitionCall`. */
export function parseEmbeddingCall(bytes: Uint8Array): EmbeddingRequest {
  return parseEmbeddingRequest(JSON.parse(Buffer.from(bytes).toString('utf8')));
}

function parseHotword(value: unknown, at: string): void {
  const hotword = parseObject(value, at);
  checkString(hotword['text'], `${at}.text`);
  const weight = hotword['weight'];
  if (typeof weight !== 'number' || !(weight >= 1 && weight <= 5)) throw new RangeError(`${at}.weight must be 1 to 5`);
  if (hotword['language'] !== undefined) checkString(hotword['language'], `${at}.language`);
}
