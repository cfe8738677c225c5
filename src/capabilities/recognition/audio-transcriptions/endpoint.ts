import type { AudioSource } from '../audio/audio-decoder.ts';
import type { Catalogue } from '../../../catalogue/model.ts';
import type { Owner, RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import type { Hotword } from '../../../core/speech.ts';
import { REQUESTED_MODEL_CHARS_MAX } from '../../../core/limits.ts';
import { UPLOAD_EXTRA_BYTES_MAX } from '../../../protocols/limits.ts';
import type { SpeechTask } from '../../../engines/speech-engine.ts';
import type { Files, ReceivedFile } from '../../../resources/files/file.ts';
import { createStreamReply } from '../../../protocols/endpoint.ts';
import type { Endpoint } from '../../../protocols/endpoint.ts';
import { getOnlyFile, receiveUpload } from '../../../protocols/fields/receive-upload.ts';
import { encodeIgnoredHeader } from '../../../protocols/ignored-header.ts';
import { INTERFACES } from '../../../protocols/interfaces.ts';
import { parseBody } from '../../../protocols/parse.ts';
import { createTranscriptReply } from './create-transcript-reply.ts';
import { releaseAtEnd } from './release-at-end.ts';
import { collectFormFields, STREAM_FORMATS, TranscriptionForm, transcriptionFormTexts } from './schema.ts';
import { createTranscriptionStreamEncoder } from './stream.ts';
import type { RecognitionEvent } from './stream.ts';

export interface RecognizeUploadRequest {
  /** Model name in the request. */
  readonly model: string;
  readonly source: AudioSource;
  readonly task: SpeechTask;
  readonly language: string | undefined;
  readonly prompt: string | undefined;
  readonly hotwords: readonly Hotword[];
}

/**
 * Recognizes the speech of an upload while the caller waits. Returns batches of events; the last event is the end.
 * @throws ServiceError `invalid-request` with `param` `file` for audio that cannot be decoded.
 */
export type RecognizeUpload = (
  request: RecognizeUploadRequest,
  context: RequestContext,
) => AsyncIterable<readonly RecognitionEvent[]>;

export interface AudioTranscriptionsDeps {
  readonly files: Files;
  readonly openSource: (received: ReceivedFile) => AudioSource;
  readonly recognize: RecognizeUpload;
  /** Returns the current catalogue, which changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  /** @throws ServiceError if the vocabulary does not exist or belongs to another model. */
  readonly findHotwords: (owner: Owner, id: string, model: string) => Promise<readonly Hotword[]>;
  readonly fileBytesMax: number;
  readonly strict?: boolean;
}

/**
 * Creates POST /compatible-mode/v1/audio/transcriptions. The file counts against the workspace's storage quota while it
 * is transcribed, and is deleted afterwards. With `stream`, the response is a stream of server-sent events.
 */
export function createAudioTranscriptionsEndpoint(deps: AudioTranscriptionsDeps): Endpoint {
  const { files, openSource, recognize, catalogue, findHotwords, fileBytesMax, strict = false } = deps;
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
        await catalogue().resolve(model, { interface: 'speech', owner: context.owner });
        const file = getOnlyFile(received);
        if (granularities.length > 0 && format !== 'verbose_json') {
          const param = 'timestamp_granularities';
          throw new ServiceError('invalid-request', `${param} needs response_format verbose_json.`, { param });
        }
        if (wire.stream && !STREAM_FORMATS.includes(format)) {
          const param = 'response_format';
          const rule = `${param} must be ${STREAM_FORMATS.join(' or ')} with stream true`;
          throw new ServiceError('invalid-request', `${rule}. Omit stream for ${format}.`, { param });
        }
        const { vocabulary_id: vocabularyId } = wire;
        const hotwords = vocabularyId ? await findHotwords(context.owner, vocabularyId, model) : [];
        const source = openSource(file.received);
        const task = 'transcribe';
        const events = recognize({ model, source, task, language, prompt, hotwords }, context);
        // `temperature` has no effect: recognition chooses its own sampling when the model is uncertain.
        const ignored = wire.temperature ? ['temperature'] : [];
        const headers = encodeIgnoredHeader([...ignored, ...ignoredFiles, ...unknown]);
        if (wire.stream) {
          const batches = releaseAtEnd(events, received.retainFiles());
          return createStreamReply(batches, createTranscriptionStreamEncoder(context.requestId), headers);
        }
        return await createTranscriptReply(events, { format, task, granularities }, headers);
      });
    },
  };
}
