import { REQUESTED_MODEL_CHARS_MAX } from '../../../core/limits.ts';
import type { Endpoint } from '../../../protocols/endpoint.ts';
import { getOnlyFile, receiveUpload } from '../../../protocols/fields/receive-upload.ts';
import { encodeIgnoredHeader } from '../../../protocols/ignored-header.ts';
import { INTERFACES } from '../../../protocols/interfaces.ts';
import { UPLOAD_EXTRA_BYTES_MAX } from '../../../protocols/limits.ts';
import { parseBody } from '../../../protocols/parse.ts';
import { createTranscriptReply } from '../audio-transcriptions/create-transcript-reply.ts';
import type { AudioTranscriptionsDeps } from '../audio-transcriptions/endpoint.ts';
import { collectFormFields } from '../audio-transcriptions/schema.ts';
import { TranslationForm, translationFormTexts } from './schema.ts';

/**
 * Creates POST /compatible-mode/v1/audio/translations, which returns what is spoken in an upload in English. The file is
 * treated as in a transcription.
 */
export function createAudioTranslationsEndpoint(deps: Omit<AudioTranscriptionsDeps, 'findHotwords'>): Endpoint {
  const { files, openSource, recognize, catalogue, fileBytesMax, strict = false } = deps;
  return {
    operation: 'audio-translations.create',
    method: 'POST',
    path: '/compatible-mode/v1/audio/translations',
    family: 'compatible',
    regions: INTERFACES.compatibleSpeechTranslation.regions,
    onDisconnect: 'cancel',
    uploadBytesMax: fileBytesMax + UPLOAD_EXTRA_BYTES_MAX,
    async handle({ upload }, context) {
      const options = { files, upload, context, fileFieldNames: ['file'], isFileFailure: () => false };
      return await receiveUpload(options, async (received) => {
        const form = collectFormFields(received.fields);
        const { wire, unknown } = parseBody(TranslationForm, form, { texts: translationFormTexts, strict });
        const { model, response_format: format, prompt } = wire;
        context.log.add({ requestedModel: model.slice(0, REQUESTED_MODEL_CHARS_MAX) });
        await catalogue().resolve(model, { interface: 'speech', owner: context.owner });
        const source = openSource(getOnlyFile(received).received);
        const task = 'translate';
        const events = recognize({ model, source, task, language: undefined, prompt, hotwords: [] }, context);
        // `temperature` has no effect, as in a transcription.
        const ignored = wire.temperature ? ['temperature'] : [];
        const headers = encodeIgnoredHeader([...ignored, ...received.unknown, ...unknown]);
        return await createTranscriptReply(events, { format, task, granularities: [] }, headers);
      });
    },
  };
}
