import type { Catalogue } from '../../../catalogue/model.ts';
import type { Owner } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import type { Hotword } from '../../../core/speech.ts';
import { isPresent } from '../../../lib/present.ts';
import type { Links } from '../../../resources/files/links.ts';
import type { Transcriptions } from '../../../resources/transcriptions/service.ts';
import type { TaskStore } from '../../../store/tasks.ts';
import type { TranscriptionStore } from '../../../store/transcriptions.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { readSpecialWords } from '../../fields/special-word-filter.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { missing, parseBody, refuse } from '../../parse.ts';
import { wantsTask } from '../generation/wants-stream.ts';
import { encodeTranscript } from './encode.ts';
import { TranscriptionBody, transcriptionTexts } from './schema.ts';
import type { TranscriptionWire } from './schema.ts';

export interface NativeTranscriptionNeeds {
  readonly transcriptions: Transcriptions;
  readonly store: {
    readonly tasks: Pick<TaskStore, 'findAnywhere'>;
    readonly transcriptions: Pick<TranscriptionStore, 'parts'>;
  };
  /** Of results. */
  readonly links: Links;
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  /** @throws ServiceError for a list that is not there, or is for another model. */
  readonly findHotwords: (owner: Owner, id: string, model: string) => Promise<readonly Hotword[]>;
  readonly strict?: boolean;
}

/** Below it, a task and the number of its audio. */
export const TRANSCRIPTS_PATH = '/transcriptions';

const shared = { family: 'native', regions: INTERFACES.transcription.regions } as const;

/** wire.md E7.2: audios of which a task becomes what was said in them, and what was said, by a signed address. */
export function nativeTranscription(needs: NativeTranscriptionNeeds): readonly Endpoint[] {
  const { transcriptions, store, links, catalogue, findHotwords, strict = false } = needs;
  return [
    {
      ...shared,
      operation: 'transcription.create',
      method: 'POST',
      path: '/api/v1/services/audio/asr/transcription',
      onDisconnect: 'finish',
      async handle({ body, headers }, { owner, requestId }) {
        if (!wantsTask(headers)) {
          throw new ServiceError('forbidden', 'Current user api does not support synchronous calls.');
        }
        const { wire, unknown } = parseBody(TranscriptionBody, body, { texts: transcriptionTexts, strict });
        const { entry } = catalogue().resolve(wire.model, { interface: 'speech', owner });
        const sources = sourcesOf(wire.input);
        const { parameters } = wire;
        const words = parameters?.special_word_filter;
        const filtered = words ? readSpecialWords(words, 'parameters.special_word_filter') : undefined;
        const vocabulary = parameters?.vocabulary_id;
        const id = await transcriptions.begin(owner, {
          requestId,
          model: wire.model,
          sources,
          order: {
            model: entry.name,
            languages: [...new Set(parameters?.language_hints)],
            hotwords: vocabulary ? await findHotwords(owner, vocabulary, wire.model) : [],
            reading: {
              dropsFillers: parameters?.disfluency_removal_enabled ?? false,
              ...(filtered ? { filter: filtered.filter } : {}),
            },
            channels: [...new Set(parameters?.channel_id)],
            wantsOne: !isPresent(wire.input.file_urls),
          },
        });
        return json(
          { output: { task_status: 'PENDING', task_id: id }, request_id: requestId },
          ignoredHeader([
            ...(filtered?.wantsReserved ? ['parameters.special_word_filter.system_reserved_filter'] : []),
            ...ignoredWishes(wire),
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
      async ownerOf({ params: { id = '', part = '' }, query }) {
        links.check(`${id}/${part}`, query);
        const task = await store.tasks.findAnywhere(id);
        if (!task) throw new ServiceError('not-found', 'There is no such transcription any more.');
        return { workspace: task.workspace, region: task.region, keyId: task.keyId };
      },
      async handle({ params: { id = '', part = '' } }) {
        const found = (await store.transcriptions.parts(id)).find(({ number }) => String(number) === part);
        if (found?.facts === undefined) throw new ServiceError('not-found', 'There is no such transcription any more.');
        return json(await encodeTranscript(id, found, transcriptions));
      },
    },
  ];
}

/** The scheme of this machine's own files is refused, as any other that is not named here. */
const ADDRESS = /^(https?|fileid):\/\/./i;

function sourcesOf({ file_urls, file_url }: TranscriptionWire['input']): readonly string[] {
  const named =
    file_urls?.map((address, at) => ({ address, at: `input.file_urls[${at}]` })) ??
    (isPresent(file_url) ? [{ address: file_url, at: 'input.file_url' }] : undefined);
  if (!named) throw new ServiceError('invalid-request', missing('input.file_urls'), { param: 'input.file_urls' });
  const wrong = named.find(({ address }) => !ADDRESS.test(address));
  if (wrong) throw refuse(wrong.at, `${wrong.at} must begin with http://, https:// or fileid://`, wrong.address);
  return named.map(({ address }) => address);
}

/** What nothing here can do. Words are always as exact in time as they can be. */
const ignoredWishes = ({ parameters, resources }: TranscriptionWire): readonly string[] => [
  ...(parameters?.diarization_enabled ? ['parameters.diarization_enabled'] : []),
  ...(isPresent(parameters?.speaker_count) ? ['parameters.speaker_count'] : []),
  ...(isPresent(parameters?.phrase_id) ? ['parameters.phrase_id'] : []),
  ...(resources && resources.length > 0 ? ['resources'] : []),
];
