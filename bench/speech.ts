import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDecodeAudio } from '../src/audio/decode-audio.ts';
import { pcm, wavFile } from '../src/audio/__fixtures__/wav-file.ts';
import { SPEECH_SAMPLE_RATE } from '../src/core/speech.ts';
import type { Hotword } from '../src/core/speech.ts';
import { createSpeechEngine } from '../src/engines/speech/speech-engine.ts';
import { createSpeechProcess } from '../src/engines/speech/speech-process.ts';
import { loadRuntime } from '../src/engines/speech/runtime.ts';
import { openWhisperModel } from '../src/engines/speech/whisper-model.ts';
import type { WhisperModel } from '../src/engines/speech/whisper-model.ts';
import type { SpeechEngine } from '../src/engines/speech-engine.ts';
import { createOpenAudio } from '../src/transcription/opened-audio.ts';
import { transcribe } from '../src/transcription/transcribe.ts';
import { lacksSpeech, runtimeFolder, speechWeights } from '../test/models-folder.ts';
import { COUNTED, countedCells, hardNames } from './hotword-counts.ts';
import type { Heard } from './hotword-counts.ts';
import { inventedNames } from './invented-names.ts';
import { alternate, ratioOf } from './pairs.ts';
import { engineWithMemory, readBare } from './speech-engines.ts';
import { JUDGING_HALF, TUNING_HALF } from './speech-utterances.ts';
import type { Half } from './speech-utterances.ts';
import { lacksSynthesiser, mannerOf, synthesise } from './synthesiser.ts';
import type { Row } from './table.ts';

interface SpeechFolders {
  readonly runtimeFolder: string;
  readonly weightsFolder: string;
}

const WEIGHTS = [1, 2, 3, 4, 5];
/** The one that goals are set for. */
const GOAL_WEIGHT = 4;
const LONG_LIST = 500;

/** Between two utterances of the file. */
const PAUSE_SAMPLES = 0.8 * SPEECH_SAMPLE_RATE;
/** Utterances that are timed. */
const TIMED = 12;

interface Utterance {
  readonly said: string;
  readonly samples: Float32Array;
}

interface Variant {
  readonly name: string;
  readonly hotwords: readonly Hotword[];
}

const NAMES = [...TUNING_HALF.names, ...JUDGING_HALF.names];
const ALL = NAMES.map(([written]) => written);
const never = new AbortController().signal;
const ASKED = { id: 'bench', owner: { workspace: 'bench', key: 'bench' }, languages: ['en'], wantsWords: false };

/**
 * What a vocabulary of 40 rare names does to 100 utterances of a synthesiser, over the engine's whole way but with each
 * speech encoded once; the same over a file; and what the engine costs beside the same weights driven by hand.
 */
export async function speech(
  note: (text: string) => void,
): Promise<{ readonly rows: readonly Row[]; readonly remarks: readonly string[] }> {
  const lack = lacksSpeech('svc-asr') || lacksSynthesiser();
  if (lack !== false) {
    note(`speech is left out: ${lack}`);
    return { rows: [], remarks: [] };
  }
  const weightsFolder = speechWeights('svc-asr');
  const whisper = await openWhisperModel(loadRuntime(runtimeFolder()), { weightsFolder, threads: 1 });
  const tuning = await utterancesOf(TUNING_HALF, 0);
  const judging = await utterancesOf(JUDGING_HALF, tuning.length);
  const engine = await engineWithMemory(whisper);
  try {
    const lines = [
      ...(await countedLines('tuning', { engine, utterances: tuning, note })),
      ...(await countedLines('judging', { engine, utterances: judging, note })),
      ...(await fileLines(engine, judging.slice(0, JUDGING_HALF.named.length))),
    ];
    const row = await timed({
      runtimeFolder: runtimeFolder(),
      weightsFolder,
      whisper,
      utterances: judging.slice(JUDGING_HALF.named.length).slice(0, TIMED),
      note,
    });
    return { rows: [row], remarks: [tableOf(lines)] };
  } finally {
    await engine.close();
  }
}

/** How a name has to be written for the synthesiser to say it well. */
const spoken = (text: string): string => NAMES.reduce((so, [written, said]) => so.replaceAll(written, said), text);

const utterancesOf = async ({ named, plain }: Half, from: number): Promise<readonly Utterance[]> =>
  await Promise.all(
    [...named, ...plain].map(async (said, at) => ({
      said,
      samples: await synthesise(spoken(said), mannerOf(from + at), from + at + 1),
    })),
  );

const vocabulary = (texts: readonly string[], weight: number): readonly Hotword[] =>
  texts.map((text) => ({ text, weight }));

/** The names stand all over the long list, and not at its beginning. */
function longList(): readonly string[] {
  const step = Math.floor(LONG_LIST / ALL.length);
  const others = inventedNames(LONG_LIST - ALL.length);
  return ALL.flatMap((name, at) => [...others.slice(at * (step - 1), (at + 1) * (step - 1)), name]).concat(
    others.slice(ALL.length * (step - 1)),
  );
}

async function countedLines(
  half: string,
  {
    engine,
    utterances,
    note,
  }: {
    readonly engine: SpeechEngine;
    readonly utterances: readonly Utterance[];
    readonly note: (text: string) => void;
  },
): Promise<readonly (readonly string[])[]> {
  const variants: readonly Variant[] = [
    { name: 'none', hotwords: [] },
    ...WEIGHTS.map((weight) => ({ name: `weight ${weight}`, hotwords: vocabulary(ALL, weight) })),
    { name: `weight ${GOAL_WEIGHT}, list of ${LONG_LIST}`, hotwords: vocabulary(longList(), GOAL_WEIGHT) },
  ];
  const heard = variants.map((): Heard[] => []);
  for (const [at, { said, samples }] of utterances.entries()) {
    if (at % 10 === 0) note(`speech: ${half} half, utterance ${at} of ${utterances.length}`);
    for (const [which, { hotwords }] of variants.entries()) {
      const { text } = await engine.recognize({ ...ASKED, samples, hotwords }, never);
      heard[which]?.push({ said, text });
    }
  }
  const hard = hardNames(heard[0] ?? [], ALL);
  return variants.map(({ name }, which) => [half, name, ...countedCells(heard[which] ?? [], { names: ALL, hard })]);
}

/** One recording of all utterances with names, decoded, cut at its pauses and heard window by window. */
async function fileLines(
  engine: SpeechEngine,
  utterances: readonly Utterance[],
): Promise<readonly (readonly string[])[]> {
  const file = wavFile(
    Buffer.concat(utterances.flatMap(({ samples }) => [samples, new Float32Array(PAUSE_SAMPLES)]).map(pcm)),
  );
  const source = { sizeBytes: file.length, read: async (from: number) => bytesFrom(file, from) };
  const said = utterances.map((utterance) => utterance.said).join(' ');
  const heardWith = async (hotwords: readonly Hotword[]): Promise<readonly Heard[]> => {
    const { blocks } = createOpenAudio(createDecodeAudio())(source, { channel: undefined, signal: never });
    const windows = await Array.fromAsync(transcribe(blocks, { ...ASKED, hotwords }, engine, never));
    return [{ said, text: windows.map(({ text }) => text).join(' ') }];
  };
  const [none, helped] = [await heardWith([]), await heardWith(vocabulary(ALL, GOAL_WEIGHT))];
  const counted = { names: ALL, hard: hardNames(none, ALL) };
  return [
    ['judging, one file', 'none', ...countedCells(none, counted)],
    ['judging, one file', `weight ${GOAL_WEIGHT}`, ...countedCells(helped, counted)],
  ];
}

async function* bytesFrom(file: Uint8Array, from: number): AsyncGenerator<Uint8Array> {
  yield file.subarray(from);
}

async function timed({
  runtimeFolder,
  weightsFolder,
  whisper,
  utterances,
  note,
}: SpeechFolders & {
  readonly whisper: WhisperModel;
  readonly utterances: readonly Utterance[];
  readonly note: (text: string) => void;
}): Promise<Row> {
  const runFolder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const process = await createSpeechProcess(
    { name: 'bench', runtimeFolder, weightsFolder, runFolder, threads: 1, queuePlacesMax: 4, queueWaitMsMax: 600_000 },
    { info: () => undefined, warn: note },
  );
  const engine = createSpeechEngine({ process });
  try {
    await engine.model();
    /** Milliseconds for a second of speech, one utterance a round. */
    const side = (hear: (samples: Float32Array) => Promise<unknown>) => {
      let next = 0;
      return async (): Promise<number> => {
        const { samples } = utterances[next++ % utterances.length] ?? { samples: new Float32Array(1) };
        const begun = performance.now();
        await hear(samples);
        return ((performance.now() - begun) * SPEECH_SAMPLE_RATE) / samples.length;
      };
    };
    const pairs = await alternate(
      utterances.length,
      side((samples) => engine.recognize({ ...ASKED, samples, hotwords: [] }, never)),
      side((samples) => readBare(whisper, samples)),
      note,
    );
    const what = { what: 'a second of speech, clips of 3 to 4 s without names or vocabulary', unit: 'ms' };
    return { ...what, peer: 'the same weights in a bare loop', ...pairs, ratio: ratioOf(pairs), goal: '≤ 1.1' };
  } finally {
    await engine.close();
    rmSync(runFolder, { recursive: true, force: true });
  }
}

function tableOf(lines: readonly (readonly string[])[]): string {
  const head = ['utterances', 'vocabulary', ...COUNTED];
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
