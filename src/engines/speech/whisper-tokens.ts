import type { BytePairs } from './byte-pairs.ts';

/** What we read of a config.json. */
export interface WhisperConfig {
  /** Tokens that are never heard: signs that nobody says. */
  readonly suppress_ids: readonly number[];
  /** Tokens that nothing begins with. */
  readonly suppress_ids_begin: readonly number[];
  readonly lang_ids: readonly number[];
}

/** The special tokens of a whisper model, and texts as its tokens. */
export interface WhisperTokens extends Pick<BytePairs, 'encode' | 'decode'> {
  /** Ids up to this one are text; all above are special. */
  readonly end: number;
  readonly start: number;
  readonly startOfPrevious: number;
  readonly transcribe: number;
  readonly noTimestamps: number;
  readonly noSpeech: number;
  /** Ids by ISO 639-1; a few languages have three letters only. */
  readonly languages: ReadonlyMap<string, number>;
  readonly suppressed: readonly number[];
  readonly suppressedFirst: readonly number[];
}

/** Where whisper does not say it as ISO 639-1 does. */
const ISO_NAMES: Readonly<Record<string, string>> = { jw: 'jv' };

/** @throws where a token is missing: the files are not of a multilingual whisper. */
export function createWhisperTokens(pairs: BytePairs, config: WhisperConfig): WhisperTokens {
  const special = (...names: readonly string[]): number => {
    const id = names.map((name) => pairs.special.get(`<|${name}|>`)).find((found) => found !== undefined);
    if (id === undefined) throw new Error(`the tokenizer has no token <|${names.join('|> or <|')}|>`);
    return id;
  };
  const texts = new Map(Array.from(pairs.special, ([text, id]) => [id, text]));
  const languages = new Map(
    config.lang_ids.map((id) => {
      const name = /^<\|(.+)\|>$/.exec(texts.get(id) ?? '')?.[1];
      if (name === undefined) throw new Error(`the tokenizer has no language ${id}`);
      return [ISO_NAMES[name] ?? name, id];
    }),
  );
  return {
    encode: pairs.encode,
    decode: pairs.decode,
    end: special('endoftext'),
    start: special('startoftranscript'),
    startOfPrevious: special('startofprev'),
    transcribe: special('transcribe'),
    noTimestamps: special('notimestamps'),
    noSpeech: special('nospeech', 'nocaptions'),
    languages,
    suppressed: config.suppress_ids,
    suppressedFirst: config.suppress_ids_begin,
  };
}
