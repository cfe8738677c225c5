import { createAudioDecoder } from '../audio/audio-decoder.ts';
import { encodePcm16, createTestWavFile } from '../audio/__fixtures__/test-wav-file.ts';
import { SPEECH_SAMPLE_RATE } from '../../../core/speech.ts';
import type { Hotword } from '../../../core/speech.ts';
import { createSpeechEngine } from '../../../engines/speech/speech-engine.ts';
import { createSpeechProcess } from '../../../engines/speech/speech-process.ts';
import { loadOnnxRuntime } from '../../../engines/speech/onnx-runtime.ts';
import { openWhisperModel } from '../../../engines/speech/whisper-model.ts';
import type { WhisperModel } from '../../../engines/speech/whisper-model.ts';
import type { SpeechEngine } from '../../../engines/speech-engine.ts';
import { createAudioOpener } from '../transcription/audio-opener.ts';
import { transcribe } from '../transcription/transcribe.ts';
import { getSpeechSkipReason, getRuntimeFolder, getSpeechWeightsFolder } from '../../../../test/models-folder.ts';
import { SCORE_COLUMNS, formatScoreCells, findHardNames } from './hotword-scores.ts';
import type { RecognitionSample } from './hotword-scores.ts';
import { createInventedNames } from './invented-names.ts';
import type { BenchmarkResult } from '../../../../bench/benchmark.ts';
import { withTemporaryFolder } from '../../../../bench/bench-service.ts';
import { createCachingSpeechEngine, transcribeGreedily } from './speech-engines.ts';
import { JUDGING_HALF, TUNING_HALF } from './speech-utterances.ts';
import type { UtteranceHalf } from './speech-utterances.ts';
import { getSynthesizerSkipReason, chooseStyle, synthesizeSpeech } from './synthesizer.ts';
import { measureRow } from '../../../../bench/result-table.ts';
import type { ResultRow } from '../../../../bench/result-table.ts';

const WEIGHTS = [1, 2, 3, 4, 5];
/** The weight that the goals apply to. */
const GOAL_WEIGHT = 4;
const LONG_LIST_LENGTH = 500;

/** Silence between two utterances of the file. */
const PAUSE_SAMPLES = 0.8 * SPEECH_SAMPLE_RATE;
/** Number of timed utterances. */
const TIMED_UTTERANCES = 12;

interface Utterance {
  readonly reference: string;
  readonly samples: Float32Array;
}

interface Variant {
  readonly name: string;
  readonly hotwords: readonly Hotword[];
}

const NAMES = [...TUNING_HALF.names, ...JUDGING_HALF.names];
const ALL_NAMES = NAMES.map(([written]) => written);
const neverAborted = new AbortController().signal;
const RECOGNITION_REQUEST = {
  id: 'bench',
  owner: { workspace: 'bench', key: 'bench' },
  languages: ['en'],
  includeWords: false,
};

/**
 * Measures what a vocabulary of 40 rare names changes for 100 synthetic utterances, through the whole engine but with
 * each speech encoded once. Measures the same for one long file, and the cost of the engine against the bare weights.
 */
export async function measureSpeech(logProgress: (text: string) => void): Promise<BenchmarkResult> {
  const skipReason = getSpeechSkipReason('svc-asr') || getSynthesizerSkipReason();
  if (skipReason !== false) {
    logProgress(`skipped speech: ${skipReason}`);
    return { rows: [], remarks: [] };
  }
  const weightsFolder = getSpeechWeightsFolder('svc-asr');
  const whisper = await openWhisperModel(loadOnnxRuntime(getRuntimeFolder()), { weightsFolder, threads: 1 });
  const tuning = await createUtterances(TUNING_HALF, 0);
  const judging = await createUtterances(JUDGING_HALF, tuning.length);
  const engine = await createCachingSpeechEngine(whisper);
  try {
    const lines = [
      ...(await scoreHalf('tuning', { engine, utterances: tuning, logProgress })),
      ...(await scoreHalf('judging', { engine, utterances: judging, logProgress })),
      ...(await scoreFile(engine, judging.slice(0, JUDGING_HALF.namedSentences.length))),
    ];
    const timed = judging.slice(JUDGING_HALF.namedSentences.length).slice(0, TIMED_UTTERANCES);
    const row = await withTemporaryFolder((runFolder) =>
      measureSpeechSpeed({
        folders: { runtimeFolder: getRuntimeFolder(), weightsFolder, runFolder },
        whisper,
        utterances: timed,
        logProgress,
      }),
    );
    return { rows: [row], remarks: [formatScoreTable(lines)] };
  } finally {
    await engine.close();
  }
}

/** Replaces each name by a spelling that the synthesizer pronounces well. */
const toSpokenForm = (text: string): string =>
  NAMES.reduce((result, [written, spoken]) => result.replaceAll(written, spoken), text);

const createUtterances = async (
  { namedSentences, plainSentences }: UtteranceHalf,
  from: number,
): Promise<readonly Utterance[]> =>
  await Promise.all(
    [...namedSentences, ...plainSentences].map(async (reference, at) => ({
      reference,
      samples: await synthesizeSpeech(toSpokenForm(reference), chooseStyle(from + at), from + at + 1),
    })),
  );

const createVocabulary = (texts: readonly string[], weight: number): readonly Hotword[] =>
  texts.map((text) => ({ text, weight }));

/** Spreads the names over the whole long list. */
function createLongList(): readonly string[] {
  const step = Math.floor(LONG_LIST_LENGTH / ALL_NAMES.length);
  const others = createInventedNames(LONG_LIST_LENGTH - ALL_NAMES.length);
  return ALL_NAMES.flatMap((name, at) => [...others.slice(at * (step - 1), (at + 1) * (step - 1)), name]).concat(
    others.slice(ALL_NAMES.length * (step - 1)),
  );
}

async function scoreHalf(
  half: string,
  {
    engine,
    utterances,
    logProgress,
  }: {
    readonly engine: SpeechEngine;
    readonly utterances: readonly Utterance[];
    readonly logProgress: (text: string) => void;
  },
): Promise<readonly (readonly string[])[]> {
  const variants: readonly Variant[] = [
    { name: 'none', hotwords: [] },
    ...WEIGHTS.map((weight) => ({ name: `weight ${weight}`, hotwords: createVocabulary(ALL_NAMES, weight) })),
    {
      name: `weight ${GOAL_WEIGHT}, list of ${LONG_LIST_LENGTH}`,
      hotwords: createVocabulary(createLongList(), GOAL_WEIGHT),
    },
  ];
  const samplesByVariant = variants.map((): RecognitionSample[] => []);
  for (const [at, { reference, samples }] of utterances.entries()) {
    if (at % 10 === 0) logProgress(`speech: ${half} half, utterance ${at} of ${utterances.length}`);
    for (const [which, { hotwords }] of variants.entries()) {
      const { text } = await engine.recognize({ ...RECOGNITION_REQUEST, samples, hotwords }, neverAborted);
      samplesByVariant[which]?.push({ reference, transcript: text });
    }
  }
  const hard = findHardNames(samplesByVariant[0] ?? [], ALL_NAMES);
  return variants.map(({ name }, which) => [
    half,
    name,
    ...formatScoreCells(samplesByVariant[which] ?? [], { names: ALL_NAMES, hardNames: hard }),
  ]);
}

/** Scores one recording of all utterances with names: decoded, split at its pauses, transcribed window by window. */
async function scoreFile(
  engine: SpeechEngine,
  utterances: readonly Utterance[],
): Promise<readonly (readonly string[])[]> {
  const file = createTestWavFile(
    Buffer.concat(utterances.flatMap(({ samples }) => [samples, new Float32Array(PAUSE_SAMPLES)]).map(encodePcm16)),
  );
  const source = { sizeBytes: file.length, read: async (from: number) => readBytesFrom(file, from) };
  const reference = utterances.map((utterance) => utterance.reference).join(' ');
  const transcribeFile = async (hotwords: readonly Hotword[]): Promise<readonly RecognitionSample[]> => {
    const { blocks } = createAudioOpener(createAudioDecoder())(source, {
      workspace: 'bench',
      channel: undefined,
      signal: neverAborted,
    });
    const windows = await Array.fromAsync(
      transcribe(blocks, { ...RECOGNITION_REQUEST, hotwords }, engine, neverAborted),
    );
    return [{ reference, transcript: windows.map(({ text }) => text).join(' ') }];
  };
  const [unaidedSamples, aidedSamples] = [
    await transcribeFile([]),
    await transcribeFile(createVocabulary(ALL_NAMES, GOAL_WEIGHT)),
  ];
  const nameSets = { names: ALL_NAMES, hardNames: findHardNames(unaidedSamples, ALL_NAMES) };
  return [
    ['judging, one file', 'none', ...formatScoreCells(unaidedSamples, nameSets)],
    ['judging, one file', `weight ${GOAL_WEIGHT}`, ...formatScoreCells(aidedSamples, nameSets)],
  ];
}

async function* readBytesFrom(file: Uint8Array, from: number): AsyncGenerator<Uint8Array> {
  yield file.subarray(from);
}

async function measureSpeechSpeed({
  folders,
  whisper,
  utterances,
  logProgress,
}: {
  readonly folders: { readonly runtimeFolder: string; readonly weightsFolder: string; readonly runFolder: string };
  readonly whisper: WhisperModel;
  readonly utterances: readonly Utterance[];
  readonly logProgress: (text: string) => void;
}): Promise<ResultRow> {
  const process = await createSpeechProcess(
    { name: 'bench', ...folders, threads: 1, beamWidth: 1, queueLengthMax: 4, queueWaitMsMax: 600_000 },
    { info: () => undefined, warn: logProgress },
  );
  const engine = createSpeechEngine({ process });
  try {
    await engine.loadModel();
    /** Returns the milliseconds per second of speech, with one utterance per round. */
    const createSide = (recognize: (samples: Float32Array) => Promise<unknown>) => {
      let next = 0;
      return async (): Promise<number> => {
        const { samples } = utterances[next++ % utterances.length] ?? { samples: new Float32Array(1) };
        const startedAt = performance.now();
        await recognize(samples);
        return ((performance.now() - startedAt) * SPEECH_SAMPLE_RATE) / samples.length;
      };
    };
    return await measureRow(
      {
        measurement: 'a second of speech, clips of 3 to 4 s without names or vocabulary',
        unit: 'ms',
        peer: 'the same weights in a bare loop',
        goal: '≤ 1.1',
        rounds: utterances.length,
        logProgress,
      },
      createSide((samples) => engine.recognize({ ...RECOGNITION_REQUEST, samples, hotwords: [] }, neverAborted)),
      createSide((samples) => transcribeGreedily(whisper, samples)),
    );
  } finally {
    await engine.close();
  }
}

function formatScoreTable(lines: readonly (readonly string[])[]): string {
  const head = ['utterances', 'vocabulary', ...SCORE_COLUMNS];
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
