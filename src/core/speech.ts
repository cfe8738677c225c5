/** Hz of all sound inside the service, and what recognition takes: mono, each sample from −1 to 1. */
export const SPEECH_SAMPLE_RATE = 16_000;

/** A word that recognition is to expect. */
export interface Hotword {
  readonly text: string;
  /** 1 to 5: how much likelier than otherwise. */
  readonly weight: number;
  /** ISO 639-1; absent: in all languages. */
  readonly language?: string;
}

/**
 * A word that was heard. Times in ms from the beginning of the audio that was asked about. One behind the other, `text` and
 * `punctuation` of all words are the text.
 */
export interface HeardWord {
  /** With the blank behind it, where one follows and no punctuation does. */
  readonly text: string;
  /** With the blank behind it, where one follows. */
  readonly punctuation: string;
  readonly beginMs: number;
  readonly endMs: number;
}

/** What was said between two pauses, or up to the end of a sentence. */
export interface Sentence {
  /** Not empty. */
  readonly text: string;
  /** ISO 639-1. */
  readonly language: string;
  readonly beginMs: number;
  readonly endMs: number;
  readonly words: readonly HeardWord[];
}

/** What becomes of words that callers do not want to read. */
export interface WordFilter {
  /** Read as one `*` for each character. */
  readonly starred: readonly string[];
  /** Left out. */
  readonly dropped: readonly string[];
}

/** How callers want to read what was heard. */
export interface ReadingWish {
  readonly filter?: WordFilter;
  /** Sounds of hesitation are left out. */
  readonly dropsFillers?: boolean;
  /** Words alone. */
  readonly dropsPunctuation?: boolean;
}

/** What a caller wants to have heard. */
export interface TranscriptionOrder {
  /** The model's own name. */
  readonly model: string;
  /** ISO 639-1, the languages it may be; empty: any. */
  readonly languages: readonly string[];
  readonly hotwords: readonly Hotword[];
  readonly reading: ReadingWish;
  /** Each by itself, from 0; empty: all of them together. */
  readonly channels: readonly number[];
  /** It was asked about one audio, and not about a list. */
  readonly wantsOne: boolean;
}

/** What is known of an audio that was heard to its end. */
export interface AudioFacts {
  /** Of what was in the file, e.g. `mp3`. */
  readonly format: string;
  /** Those that were heard by themselves, or 0. */
  readonly channels: readonly number[];
  /** Samples a second of the file. */
  readonly sampleRate: number;
  readonly durationMs: number;
}
