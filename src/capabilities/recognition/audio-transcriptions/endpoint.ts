import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { AudioSource } from '../audio/audio-decoder.ts';
import type { Catalogue } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import { REQUESTED_MODEL_CHARS_MAX } from '../../../core/limits.ts';
import { UPLOAD_EXTRA_BYTES_MAX } from '../../../protocols/limits.ts';
import type { Files, ReceivedFile } from '../../../resources/files/file.ts';
import { createJsonReply } from '../../../protocols/endpoint.ts';
import type { BytesReply, Endpoint } from '../../../protocols/endpoint.ts';
import { getOnlyFile, receiveUpload } from '../../../protocols/fields/receive-upload.ts';
import { encodeIgnoredHeader } from '../../../protocols/ignored-header.ts';
import { INTERFACES } from '../../../protocols/interfaces.ts';
import { parseBody } from '../../../protocols/parse.ts';
import { encodeTranscription } from './encode.ts';
import type { UploadTranscript } from './encode.ts';
import { collectFormFields, TranscriptionForm, transcriptionFormTexts } from './schema.ts';

export interface RecognizeUploadRequest {
  /** Model name in the request. */
  readonly model: string;
  readonly source: AudioSource;
  readonly language: string | undefined;
  readonly prompt: string | undefined;
}

/**
 * Recognizes the speech of an upload while the caller waits.
 * @throws ServiceError `invalid-request` with `param` `file` for audio that cannot be decoded.
 */
export type RecognizeUpload = (
  request: RecognizeUploadRequest,
  context: RequestContext,
) => Promise<Omit<UploadTranscript, 'granularities'>>;

export interface AudioTranscriptionsDeps {
  readonly files: Files;
  readonly openSource: (received: ReceivedFile) => AudioSource;
  readonly recognize: RecognizeUpload;
  /** Returns the current catalogue, which changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  readonly fileBytesMax: number;
  readonly strict?: boolean;
}

/**
 * Creates POST /compatible-mode/v1/audio/transcriptions. The file counts against the workspace's storage quota while it
 * is transcribed, and is deleted afterwards.
 */
export function createAudioTranscriptionsEndpoint(deps: AudioTranscriptionsDeps): Endpoint {
  const { files, openSource, recognize, catalogue, fileBytesMax, strict = false } = deps;
  return {
    operation: 'audio-transcriptions.create',
    method: 'POST',
    path: '/compatible-mode/v1/audio/transcriptions',
    family: 'compatible',
    regions: INTERFACES.compatibleTranscription.regions,
    onDisconnect: 'cancel',
    uploadBytesMax: fileBytesMax + UPLOAD_EXTRA_BYTES_MAX,
    async handle({ upload }, context) {
      const options = { files, upload, context, fileFieldNames: ['file'], isFileFailure: () => false };
      return await receiveUpload(options, async (received) => {
        const { fields, unknown: ignoredFiles } = received;
        const { wire, unknown } = parseBody(TranscriptionForm, collectFormFields(fields), {
          texts: transcriptionFormTexts,
          strict,
        });
        const { model, response_format: format, language, prompt, timestamp_granularities: granularities = [] } = wire;
        context.log.add({ requestedModel: model.slice(0, REQUESTED_MODEL_CHARS_MAX) });
        catalogue().resolve(model, { interface: 'speech', owner: context.owner });
        const file = getOnlyFile(received);
        if (granularities.length > 0 && format !== 'verbose_json') {
          const param = 'timestamp_granularities';
          throw new ServiceError('invalid-request', `${param} needs response_format verbose_json.`, { param });
        }
        const transcript = await recognize({ model, source: openSource(file.received), language, prompt }, context);
        // `temperature` has no effect: recognition chooses its own sampling when the model is uncertain.
        const ignored = wire.temperature ? ['temperature'] : [];
        const headers = encodeIgnoredHeader([...ignored, ...ignoredFiles, ...unknown]);
        const encoded = encodeTranscription(format, { ...transcript, granularities });
        return 'json' in encoded
          ? createJsonReply(encoded.json, headers)
          : createTextReply(encoded.text.text, { 'content-type': encoded.text.type, ...headers });
      });
    },
  };
}

/** Creates a plain text response. */
function createTextReply(text: string, headers: Readonly<Record<string, string>>): BytesReply {
  const bytes = Buffer.from(text);
  return {
    type: 'bytes',
    sizeBytes: bytes.length,
    etag: createHash('sha256').update(bytes).digest('hex'),
    headers: { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store', ...headers },
    open: async (range) => Readable.from([bytes.subarray(range?.start ?? 0, (range?.end ?? bytes.length) + 1)]),
  };
}
