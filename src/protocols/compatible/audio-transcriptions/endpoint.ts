import type { AudioSource } from '../../../audio/decode-audio.ts';
import type { Catalogue } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import { ASKED_CHARS_MAX, UPLOAD_EXTRA_BYTES_MAX } from '../../../core/limits.ts';
import type { Files, ReceivedFile } from '../../../resources/files/file.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { takeFiles } from '../../fields/take-files.ts';
import { textReply } from '../../fields/text-reply.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { missing, parseBody } from '../../parse.ts';
import { encodeTranscription } from './encode.ts';
import type { Heard } from './encode.ts';
import { formOf, TranscriptionForm, transcriptionFormTexts } from './schema.ts';

export interface HearingWish {
  /** As asked. */
  readonly model: string;
  readonly source: AudioSource;
  readonly language: string | undefined;
  readonly prompt: string | undefined;
}

/** Hears an audio while its caller waits. @throws ServiceError `invalid-request` for an audio that cannot be read; `param` is `file`. */
export type Hear = (wish: HearingWish, context: RequestContext) => Promise<Omit<Heard, 'granularities'>>;

export interface AudioTranscriptionsNeeds {
  readonly files: Files;
  readonly sourceOf: (received: ReceivedFile) => AudioSource;
  readonly hear: Hear;
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  readonly fileBytesMax: number;
  readonly strict?: boolean;
}

/** POST /compatible-mode/v1/audio/transcriptions. The file counts for its workspace's room while it is heard, and goes then. */
export function audioTranscriptions(needs: AudioTranscriptionsNeeds): Endpoint {
  const { files, sourceOf, hear, catalogue, fileBytesMax, strict = false } = needs;
  return {
    operation: 'audio-transcriptions.create',
    method: 'POST',
    path: '/compatible-mode/v1/audio/transcriptions',
    family: 'compatible',
    regions: INTERFACES.compatibleTranscription.regions,
    onDisconnect: 'cancel',
    uploadBytesMax: fileBytesMax + UPLOAD_EXTRA_BYTES_MAX,
    async handle({ upload }, context) {
      const wish = { files, upload, context, names: ['file'], isFileFailure: () => false };
      return await takeFiles(wish, async ({ files: [file, second], fields, unknown: passed }) => {
        const { wire, unknown } = parseBody(TranscriptionForm, formOf(fields), {
          texts: transcriptionFormTexts,
          strict,
        });
        const { model, response_format: format, language, prompt, timestamp_granularities: granularities = [] } = wire;
        context.log.add({ asked: model.slice(0, ASKED_CHARS_MAX) });
        catalogue().resolve(model, { interface: 'speech', owner: context.owner });
        if (!file?.received) throw new ServiceError('invalid-request', missing('file'), { param: 'file' });
        if (second) throw new ServiceError('invalid-request', 'file must be one file.', { param: 'file' });
        if (granularities.length > 0 && format !== 'verbose_json') {
          const param = 'timestamp_granularities';
          throw new ServiceError('invalid-request', `${param} needs response_format verbose_json.`, { param });
        }
        const heard = await hear({ model, source: sourceOf(file.received), language, prompt }, context);
        // Where the model is unsure it decides itself how bold to be.
        const ignored = wire.temperature ? ['temperature'] : [];
        const headers = ignoredHeader([...ignored, ...passed, ...unknown]);
        const said = encodeTranscription(format, { ...heard, granularities });
        return 'json' in said
          ? json(said.json, headers)
          : textReply(said.text.text, { 'content-type': said.text.type, ...headers });
      });
    },
  };
}
