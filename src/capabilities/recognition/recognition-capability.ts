import type { Capability } from '../../service/capability.ts';
import { createAudioDecoder } from './audio/audio-decoder.ts';
import { openTranscriptions } from './open-transcriptions.ts';
import { openVocabularies } from './open-vocabularies.ts';
import { createRealtimeEndpoint, createRealtimeHttpEndpoint } from './realtime/endpoint.ts';
import { createRecognitionLimit } from './realtime/recognition-limit.ts';
import { createAudioOpener } from './transcription/audio-opener.ts';
import { openAudioStream } from './transcription/open-audio-stream.ts';

/** Recognizes speech in files and in live audio, with custom vocabularies. */
export const recognition: Capability = {
  name: 'recognition',
  open(context) {
    const { config, catalogue, leaseSpeechEngine, store, clock, log } = context;
    const { vocabularies, endpoints } = openVocabularies(context);
    const { findHotwords } = vocabularies;
    const openAudio = createAudioOpener(createAudioDecoder());
    const transcriptions = openTranscriptions(context, { openAudio, findHotwords });
    // Connections spread over the processes almost evenly, so each process gets an equal share of the sessions.
    const sessionsMax = Math.max(1, Math.floor(config.speech.sessionsMax / config.workers));
    return {
      ...transcriptions,
      interfaces: ['speech'],
      endpoints: [...endpoints, ...transcriptions.endpoints, createRealtimeHttpEndpoint()],
      createSockets: ({ meter }) => [
        createRealtimeEndpoint({
          catalogue: () => catalogue,
          acquireSpeechEngine: leaseSpeechEngine,
          findHotwords,
          openAudio: openAudioStream,
          recognitionLimit: createRecognitionLimit(sessionsMax, (workspace) =>
            store.keys.hasOtherWorkspace(workspace, clock.now()),
          ),
          strict: config.strict,
          clock,
          log,
          meter,
        }),
      ],
    };
  },
};
