import type { TokenizerFile } from '../byte-pairs.ts';

/** Letters that GPT-2 shows bytes as: those below 33 and from 127 to 160, and 173, have one from 256 on. */
const LETTERS: readonly string[] = ((): string[] => {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCharCode((byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174 ? byte : next++),
  );
})();

export const SPECIAL = ['endoftext', 'startoftranscript', 'en', 'de', 'zh', 'transcribe', 'startofprev', 'nocaptions', 'notimestamps'];

/** A tokenizer whose tokens are the 256 bytes, then these pairs, then the special tokens of whisper with three languages. */
export function letterTokens(merges: readonly string[] = []): TokenizerFile {
  const texts = [...LETTERS, ...merges.map((pair) => pair.replace(' ', ''))];
  return {
    model: { vocab: Object.fromEntries(texts.map((text, id) => [text, id])), merges },
    added_tokens: SPECIAL.map((name, at) => ({ id: texts.length + at, content: `<|${name}|>` })),
  };
}
