import type { BytePairTokenizer } from './byte-pair-tokenizer.ts';

/** The used fields of config.json. */
export interface WhisperConfig {
  /** Tokens that are never generated, such as symbols that nobody speaks. */
  readonly suppress_ids: readonly number[];
  /** Tokens that are not generated at the start of a text. */
  readonly suppress_ids_begin: readonly number[];
  readonly lang_ids: readonly number[];
}

/** Special tokens of a Whisper model, and its tokenizer. */
export interface WhisperTokens extends Pick<BytePairTokenizer, 'encode' | 'decode'> {
  /** Smaller ids are text, larger ids are special tokens. */
  readonly endOfText: number;
  readonly startOfTranscript: number;
  readonly startOfPrevious: number;
  readonly transcribe: number;
  /** Absent if the model was made without it and cannot translate. */
  readonly translate: number | undefined;
  readonly noTimestamps: number;
  readonly noSpeech: number;
  /** Token ids by ISO 639-1 code; a few languages only have a code of three letters. */
  readonly languages: ReadonlyMap<string, number>;
  readonly suppressed: readonly number[];
  readonly suppressedAtStart: readonly number[];
}

/** Whisper's language codes that differ from ISO 639-1. */
const ISO_NAMES: Readonly<Record<string, string>> = { jw: 'jv' };

/**
 * Creates the token table.
 * @throws Error if a token is missing because the files are not of a multilingual Whisper model.
 */
export function createWhisperTokens(tokenizer: BytePairTokenizer, config: WhisperConfig): WhisperTokens {
  const findSpecialToken = (...names: readonly string[]): number => {
    const id = names.map((name) => tokenizer.specialTokens.get(`<|${name}|>`)).find((found) => found !== undefined);
    if (id === undefined) throw new Error(`the tokenizer has no token <|${names.join('|> or <|')}|>`);
    return id;
  };
  const texts = new Map(Array.from(tokenizer.specialTokens, ([text, id]) => [id, text]));
  const languages = new Map(
    config.lang_ids.map((id) => {
      const name = /^<\|(.+)\|>$/.exec(texts.get(id) ?? '')?.[1];
      if (name === undefined) throw new Error(`the tokenizer has no language ${id}`);
      return [ISO_NAMES[name] ?? name, id];
    }),
  );
  return {
    encode: tokenizer.encode,
    decode: tokenizer.decode,
    endOfText: findSpecialToken('endoftext'),
    startOfTranscript: findSpecialToken('startoftranscript'),
    startOfPrevious: findSpecialToken('startofprev'),
    transcribe: findSpecialToken('transcribe'),
    translate: tokenizer.specialTokens.get('<|translate|>'),
    noTimestamps: findSpecialToken('notimestamps'),
    noSpeech: findSpecialToken('nospeech', 'nocaptions'),
    languages,
    suppressed: config.suppress_ids,
    suppressedAtStart: config.suppress_ids_begin,
  };
}
