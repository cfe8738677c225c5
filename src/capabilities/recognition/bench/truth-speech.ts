import type { BenchmarkResult } from '../../../../bench/benchmark.ts';
import type { ResultRow } from '../../../../bench/result-table.ts';
import { getRuntimeFolder, getSpeechSkipReason, getSpeechWeightsFolder } from '../../../../test/models-folder.ts';
import { BEAM_WIDTH_DEFAULT } from '../../../config/limits.ts';
import { SPEECH_SAMPLE_RATE } from '../../../core/speech.ts';
import { loadOnnxRuntime } from '../../../engines/speech/onnx-runtime.ts';
import { createRecognizer } from '../../../engines/speech/recognizer.ts';
import { openWhisperModel, type WhisperModel } from '../../../engines/speech/whisper-model.ts';
import { writeNumbersAsDigits } from './numbers-as-digits.ts';
import { scoreRecognition } from './recognition-score.ts';
import { JUDGING_HALF, TUNING_HALF } from './speech-utterances.ts';
import { readVoicePrompts, type PromptLanguage, type VoicePrompt } from './voice-prompts.ts';

const LANGUAGES: readonly PromptLanguage[] = ['fr', 'en'];
const PROMPTS_PER_LANGUAGE = 60;

/** Names that no prompt contains, with the largest weight. */
const UNRELATED_HOTWORDS = [...TUNING_HALF.names, ...JUDGING_HALF.names].map(([text]) => ({ text, weight: 5 }));

const VARIANTS = [
  { name: 'greedy', beamWidth: 1, hotwords: [] },
  { name: `beam of ${BEAM_WIDTH_DEFAULT}`, beamWidth: BEAM_WIDTH_DEFAULT, hotwords: [] },
  { name: 'and 40 unrelated names', beamWidth: BEAM_WIDTH_DEFAULT, hotwords: UNRELATED_HOTWORDS },
] as const;

/** Transcripts of a prompt and their times, in the order of `VARIANTS`. */
interface PromptResult {
  readonly prompt: VoicePrompt;
  readonly texts: readonly string[];
  /** Ms per second of the recording, encoder included. */
  readonly times: readonly number[];
}

/**
 * Measures the word errors and the time of a greedy search and of beam search on recordings of human voices, and which
 * texts change with a vocabulary of names that nobody says. The first half of the prompts may be looked at during
 * development; the second half only judges.
 */
export async function measureSpeechTruth(logProgress: (text: string) => void): Promise<BenchmarkResult> {
  const skipReason = getSpeechSkipReason('svc-asr');
  if (skipReason !== false) throw new Error(`The benchmark needs the speech engine: ${skipReason}.`);
  const weightsFolder = getSpeechWeightsFolder('svc-asr');
  const whisper = await openWhisperModel(loadOnnxRuntime(getRuntimeFolder()), { weightsFolder, threads: 1 });
  const rows: ResultRow[] = [];
  const lines: string[] = [
    `| language, half | ${VARIANTS.map(({ name }) => name).join(' | ')} | changed by the names |`,
  ];
  lines.push(`| ${['', ...VARIANTS, ''].map(() => '---').join(' | ')} |`);
  for (const language of LANGUAGES) {
    const results: PromptResult[] = [];
    for (const prompt of await readVoicePrompts(language, PROMPTS_PER_LANGUAGE)) {
      if (results.length % 10 === 0) logProgress(`truth-speech: ${language}, prompt ${results.length}`);
      results.push(await recognizePrompt(whisper, language, prompt));
    }
    for (const { prompt, texts } of results.filter(hasChanged))
      logProgress(`${prompt.name}: ${texts[1]} → ${texts[2]}`);
    for (const [at, half] of ['tuning', 'judging'].entries())
      lines.push(
        formatScores(
          `${language}, ${half}`,
          language,
          results.filter((_, index) => index % 2 === at),
        ),
      );
    rows.push({
      measurement: `a second of speech (${language}), recognized by beam search`,
      unit: 'ms',
      peer: 'greedy search',
      goal: 'reported',
      a: results.map(({ times }) => times[1] ?? 0),
      b: results.map(({ times }) => times[0] ?? 0),
    });
  }
  return { rows, remarks: [lines.join('\n')] };
}

/** Recognizes a prompt in each variant. The encoder runs once, and its time counts for each of them. */
async function recognizePrompt(
  whisper: WhisperModel,
  language: PromptLanguage,
  { name, reference, samples }: VoicePrompt,
): Promise<PromptResult> {
  const startedAt = performance.now();
  const speech = await whisper.encode(samples);
  const encoderMs = performance.now() - startedAt;
  const texts: string[] = [];
  const times: number[] = [];
  for (const { beamWidth, hotwords } of VARIANTS) {
    const recognizer = createRecognizer({ ...whisper, encode: async () => speech }, { beamWidth });
    const request = { id: name, owner: { workspace: 'bench', key: 'bench' }, samples, includeWords: false, hotwords };
    const decodingFrom = performance.now();
    const { text } = await recognizer.recognize({ ...request, languages: [language] }, new AbortController().signal);
    const totalMs = encoderMs + performance.now() - decodingFrom;
    texts.push(text);
    times.push((totalMs * SPEECH_SAMPLE_RATE) / samples.length);
  }
  return { prompt: { name, reference, samples }, texts, times };
}

const hasChanged = ({ texts: [, plain, helped] }: PromptResult): boolean => plain !== helped;

function formatScores(label: string, language: PromptLanguage, results: readonly PromptResult[]): string {
  const rates = VARIANTS.map((_, variant) => {
    const scores = results.map(({ prompt, texts }) =>
      scoreRecognition(
        writeNumbersAsDigits(prompt.reference, language),
        writeNumbersAsDigits(texts[variant] ?? '', language),
        [],
      ),
    );
    const [words, wrong] = [sum(scores.map((score) => score.words)), sum(scores.map((score) => score.wrongWords))];
    return `${wrong}/${words} (${((100 * wrong) / words).toFixed(2)} %)`;
  });
  return `| ${[label, ...rates, `${results.filter(hasChanged).length} of ${results.length} texts`].join(' | ')} |`;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
