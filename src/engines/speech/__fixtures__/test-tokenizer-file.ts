import type { BytePairTokenizerFile } from '../byte-pair-tokenizer.ts';

/** GPT-2's printable characters for bytes: bytes below 33, from 127 to 160, and 173 have a character from 256 on. */
const BYTE_LETTERS: readonly string[] = ((): string[] => {
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCharCode((byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174 ? byte : next++),
  );
})();

export const TEST_SPECIAL_TOKENS = ['endoftext', 'startoftranscript', 'en', 'de', 'zh', 'transcribe', 'startofprev', 'nocaptions', 'notimestamps', 'translate'];

/** Creates a tokenizer file with 256 byte tokens, these merges, and Whisper's special tokens for three languages. */
export function createTestTokenizerFile(merges: readonly string[] = []): BytePairTokenizerFile {
  const texts = [...BYTE_LETTERS, ...merges.map((pair) => pair.replace(' ', ''))];
  return {
    model: { vocab: Object.fromEntries(texts.map((text, id) => [text, id])), merges },
    added_tokens: TEST_SPECIAL_TOKENS.map((name, at) => ({ id: texts.length + at, content: `<|${name}|>` })),
  };
}
