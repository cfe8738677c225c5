/** Sample rate in Hz of all audio inside Parley and of the recognition models: mono, samples from −1 to 1. */
export const SPEECH_SAMPLE_RATE = 16_000;

/** A word that recognition should expect. */
export interface Hotword {
  readonly text: string;
  /** 1 to 5: how much likelier the word becomes. */
  readonly weight: number;
  /** ISO 639-1 code. Absent: all languages. */
  readonly language?: string;
}

/**
 * A recognized word. Times are in ms from the start of the requested audio. The concatenated `text` and
 * `punctuation` of all words are the transcript.
 */
export interface RecognizedWord {
  /** Includes a following space, if there is one and no punctuation precedes it. */
  readonly text: string;
  /** Includes a following space, if there is one. */
  readonly punctuation: string;
  readonly beginMs: number;
  readonly endMs: number;
}

/** A transcript piece between two pauses, or up to the end of a sentence. */
export interface TranscriptSentence {
  /** Not empty. */
  readonly text: string;
  /** ISO 639-1 code. */
  readonly language: string;
  readonly beginMs: number;
  readonly endMs: number;
  readonly words: readonly RecognizedWord[];
}

/** Masks or removes words of a transcript that callers do not want to read. */
export interface WordFilter {
  /** Words to mask, with one `*` per character. */
  readonly starred: readonly string[];
  /** Words to remove. */
  readonly dropped: readonly string[];
}

/** Formatting of a transcript. */
export interface TranscriptFormatOptions {
  readonly filter?: WordFilter;
  /** Removes hesitation sounds. */
  readonly dropsFillers?: boolean;
  /** Removes punctuation. */
  readonly dropsPunctuation?: boolean;
}

/** A request to transcribe audio files. Stored as JSON, so property names must not change. */
export interface TranscriptionRequest {
  /** Canonical name of the model. */
  readonly model: string;
  /** ISO 639-1 codes of the expected languages. Empty: any language. */
  readonly languages: readonly string[];
  readonly hotwords: readonly Hotword[];
  readonly reading: TranscriptFormatOptions;
  /** Channels to transcribe separately, from 0. Empty: all channels mixed. */
  readonly channels: readonly number[];
  /** The request named a single audio file instead of a list. */
  readonly wantsOne: boolean;
}

/** Properties of an audio file, known once it was decoded completely. */
export interface AudioMetadata {
  /** Format of the file, e.g. `mp3`. */
  readonly format: string;
  /** Channels that were transcribed separately, or 0 for the mix. */
  readonly channels: readonly number[];
  /** Samples per second of the file. */
  readonly sampleRate: number;
  readonly durationMs: number;
}
