/** Samples a second of all audio inside: mono, each from −1 to 1. */
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
