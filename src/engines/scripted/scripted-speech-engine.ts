import { createUnsupportedLanguageError } from '../../core/generation-errors.ts';
import { SPEECH_SAMPLE_RATE, type RecognizedWord } from '../../core/speech.ts';
import { VOICE_FRAME_SAMPLES, type RecognitionRequest, type SpeechEngine } from '../speech-engine.ts';

/** Quieter samples count as silence. */
const SILENCE_LEVEL = 0.05;

/** Words from this level on end a sentence. */
const SENTENCE_END_LEVEL = 50;

/** Words from this level up to SENTENCE_END_LEVEL start with a capital letter. */
const CAPITAL_LEVEL = 40;

/** The level that is recognized as the heaviest hotword, if there is one. */
const HOTWORD_LEVEL = 30;

const LANGUAGES = ['en', 'zh', 'de'];

/** Maximum length of a segment, as with Whisper. */
const SEGMENT_SECONDS_MAX = 30;

/**
 * Creates a speech engine that recognizes levels: samples of 0.22 are the word `w22`. Words from 0.4 on start with a
 * capital letter, words from 0.5 on end their sentence, and 0.3 is the heaviest hotword, if there is one. Translated
 * words begin with `t`.
 * @param delayMs Duration of a call.
 */
export function createScriptedSpeechEngine({ delayMs = 0 }: { readonly delayMs?: number } = {}): SpeechEngine {
  return {
    state: 'ready',
    loadModel: async () => ({
      languages: LANGUAGES,
      samplesMax: SEGMENT_SECONDS_MAX * SPEECH_SAMPLE_RATE,
      translates: true,
    }),
    async recognize(request, signal) {
      const unknown = request.languages.find((each) => !LANGUAGES.includes(each));
      if (unknown) throw createUnsupportedLanguageError(unknown);
      if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
      signal.throwIfAborted();
      const words = recognizeWords(request);
      return {
        text: words
          .map(({ text, punctuation }) => text + punctuation)
          .join('')
          .trim(),
        language: request.task === 'translate' ? 'en' : (request.languages[0] ?? 'en'),
        words: request.includeWords ? words : [],
        noSpeech: words.length > 0 ? 0 : 1,
        logProbability: words.length > 0 ? -0.1 : -2,
        tokens: words.length,
        isBiasDropped: false,
      };
    },
    async detectVoice(samples) {
      const probabilities: number[] = [];
      for (let at = 0; at < samples.length; at += VOICE_FRAME_SAMPLES) {
        const end = Math.min(at + VOICE_FRAME_SAMPLES, samples.length);
        let loud = 0;
        for (let position = at; position < end; position += 1)
          if (Math.abs(samples[position] ?? 0) > SILENCE_LEVEL) loud += 1;
        probabilities.push(loud / VOICE_FRAME_SAMPLES);
      }
      return { probabilities, state: new Float32Array(0) };
    },
    close: async () => undefined,
  };
}

function recognizeWords({ samples, hotwords, task = 'transcribe' }: RecognitionRequest): readonly RecognizedWord[] {
  const words: RecognizedWord[] = [];
  let start = 0;
  let level = sampleToLevel(samples[0]);
  for (let at = 1; at <= samples.length; at += 1) {
    if (at < samples.length && samples[at] === samples[at - 1]) continue;
    const nextLevel = sampleToLevel(samples[at]);
    if (at < samples.length && nextLevel === level) continue;
    if (level > SILENCE_LEVEL * 100)
      words.push({ ...levelToWord(level, { hotwords, task }), beginMs: samplesToMs(start), endMs: samplesToMs(at) });
    start = at;
    level = nextLevel;
  }
  return words;
}

function levelToWord(
  level: number,
  { hotwords, task }: Pick<RecognitionRequest, 'hotwords' | 'task'>,
): Pick<RecognizedWord, 'text' | 'punctuation'> {
  const heaviest = hotwords.toSorted((a, b) => b.weight - a.weight)[0];
  const letter = task === 'translate' ? 't' : 'w';
  const isCapital = level >= CAPITAL_LEVEL && level < SENTENCE_END_LEVEL;
  const text =
    level === HOTWORD_LEVEL && heaviest ? heaviest.text : `${isCapital ? letter.toUpperCase() : letter}${level}`;
  return level >= SENTENCE_END_LEVEL ? { text, punctuation: '. ' } : { text: `${text} `, punctuation: '' };
}

const sampleToLevel = (sample = 0): number => Math.round(Math.abs(sample) * 100);

const samplesToMs = (samples: number): number => Math.round((samples * 1_000) / SPEECH_SAMPLE_RATE);
