import type { Catalogue } from '../../../catalogue/model.ts';
import type { Owner } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import type { Hotword } from '../../../core/speech.ts';
import { isDefined } from '../../../lib/omit-nullish.ts';
import type { SignedLinks } from '../../../resources/files/signed-links.ts';
import type { Transcriptions } from '../transcriptions/service.ts';
import type { TaskStore } from '../../../store/tasks.ts';
import type { TranscriptionStore } from '../../../store/transcriptions.ts';
import { createJsonReply } from '../../../protocols/endpoint.ts';
import type { Endpoint } from '../../../protocols/endpoint.ts';
import { parseSpecialWords } from '../special-word-filter.ts';
import { encodeIgnoredHeader } from '../../../protocols/ignored-header.ts';
import { INTERFACES } from '../../../protocols/interfaces.ts';
import { createMissingParameterError, parseBody, createFieldError } from '../../../protocols/parse.ts';
import { isTaskRequested } from '../../../protocols/native/generation/mode-headers.ts';
import { encodeTranscript } from './encode.ts';
import { TranscriptionBody, TRANSCRIPTION_TEXTS } from './schema.ts';
import type { TranscriptionWire } from './schema.ts';

export interface NativeTranscriptionDeps {
  readonly transcriptions: Transcriptions;
  readonly store: {
    readonly tasks: Pick<TaskStore, 'findInAnyTenant'>;
    readonly transcriptions: Pick<TranscriptionStore, 'listParts'>;
  };
  /** Creates and checks the signed links of results. */
  readonly links: SignedLinks;
  /** Returns the current catalogue, which changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  /** @throws ServiceError if the vocabulary does not exist or belongs to another model. */
  readonly findHotwords: (owner: Owner, id: string, model: string) => Promise<readonly Hotword[]>;
  readonly strict?: boolean;
}

/** Path prefix of results, followed by the task's id and the audio's number. */
export const TRANSCRIPTS_PATH = '/transcriptions';

const shared = { family: 'native', regions: INTERFACES.transcription.regions } as const;

/** Creates the endpoints that submit a transcription task and return a result by its signed link. */
export function createTranscriptionEndpoints(deps: NativeTranscriptionDeps): readonly Endpoint[] {
  const { transcriptions, store, links, catalogue, findHotwords, strict = false } = deps;
  return [
    {
      ...shared,
      operation: 'transcription.create',
      method: 'POST',
      path: '/api/v1/services/audio/asr/transcription',
      onDisconnect: 'finish',
      async handle({ body, headers }, { owner, requestId }) {
        if (!isTaskRequested(headers)) {
          throw new ServiceError('forbidden', 'Current user api does not support synchronous calls.');
        }
        const { wire, unknown } = parseBody(TranscriptionBody, body, { texts: TRANSCRIPTION_TEXTS, strict });
        const { entry } = await catalogue().resolve(wire.model, { interface: 'speech', owner });
        const sources = decodeSources(wire.input);
        const { parameters } = wire;
        const specialWords = parameters?.special_word_filter;
        const wordFilter = specialWords ? parseSpecialWords(specialWords, 'parameters.special_word_filter') : undefined;
        const vocabularyId = parameters?.vocabulary_id;
        const id = await transcriptions.submit(owner, {
          requestId,
          model: wire.model,
          sources,
          options: {
            model: entry.name,
            languages: [...new Set(parameters?.language_hints)],
            hotwords: vocabularyId ? await findHotwords(owner, vocabularyId, wire.model) : [],
            reading: {
              dropsFillers: parameters?.disfluency_removal_enabled ?? false,
              ...(wordFilter ? { filter: wordFilter.filter } : {}),
            },
            channels: [...new Set(parameters?.channel_id)],
            wantsOne: !isDefined(wire.input.file_urls),
          },
        });
        return createJsonReply(
          { output: { task_status: 'PENDING', task_id: id }, request_id: requestId },
          encodeIgnoredHeader([
            ...(wordFilter?.requestsReservedFilter ? ['parameters.special_word_filter.system_reserved_filter'] : []),
            ...listIgnoredTranscriptionFields(wire),
            ...unknown,
          ]),
        );
      },
    },
    {
      ...shared,
      operation: 'transcription.result',
      method: 'GET',
      path: `${TRANSCRIPTS_PATH}/:id/:part`,
      onDisconnect: 'cancel',
      async resolveOwner({ params: { id = '', part = '' }, query }) {
        const keyId = await links.check(`${id}/${part}`, query);
        const task = await store.tasks.findInAnyTenant(id);
        if (!task) throw createNotFoundError();
        return { workspace: task.workspace, region: task.region, keyId };
      },
      async handle({ params: { id = '', part = '' } }) {
        const found = (await store.transcriptions.listParts(id)).find(({ number }) => String(number) === part);
        if (found?.metadata === undefined) throw createNotFoundError();
        return createJsonReply(await encodeTranscript(id, found, transcriptions));
      },
    },
  ];
}

/** Allowed sources; in particular, `file:` URLs of the host are rejected. */
const SOURCE_URL = /^(https?|fileid):\/\/./i;

function decodeSources({ file_urls, file_url }: TranscriptionWire['input']): readonly string[] {
  const inputs =
    file_urls?.map((url, index) => ({ url, path: `input.file_urls[${index}]` })) ??
    (isDefined(file_url) ? [{ url: file_url, path: 'input.file_url' }] : undefined);
  if (!inputs) throw createMissingParameterError('input.file_urls');
  const invalid = inputs.find(({ url }) => !SOURCE_URL.test(url));
  if (invalid)
    throw createFieldError(invalid.path, `${invalid.path} must begin with http://, https:// or fileid://`, invalid.url);
  return inputs.map(({ url }) => url);
}

/** Lists parameters without effect. Word times are always as exact as possible, so that option is not listed. */
const listIgnoredTranscriptionFields = ({ parameters, resources }: TranscriptionWire): readonly string[] => [
  ...(parameters?.diarization_enabled ? ['parameters.diarization_enabled'] : []),
  ...(isDefined(parameters?.speaker_count) ? ['parameters.speaker_count'] : []),
  ...(isDefined(parameters?.phrase_id) ? ['parameters.phrase_id'] : []),
  ...(resources && resources.length > 0 ? ['resources'] : []),
];

const createNotFoundError = (): ServiceError =>
  new ServiceError('not-found', 'The transcription was not found. It may have expired.');
