import { GgufError, readGgufHeader } from './gguf-header.ts';

/**
 * Reads the chat templates of a GGUF file, by the names of their metadata without `tokenizer.`. Returns none when the file
 * is malformed.
 */
export async function readTemplateMetadata(path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const metadata = [...(await readGgufHeader(path))];
    return Object.fromEntries(
      metadata
        .filter(([key]) => key.startsWith('tokenizer.chat_template'))
        .map(([key, { value }]) => [key.slice('tokenizer.'.length), value]),
    );
  } catch (error) {
    if (error instanceof GgufError) return {};
    throw error;
  }
}
