import type { DocumentKind, ExtractionResult } from './document.ts';
import { createTextSink, type TextSink } from './text-sink.ts';
import { UnreadableDocumentError } from './unreadable-document-error.ts';

/**
 * Collects the text that `read` pushes. A document without text, or with more than `bytesMax` bytes of it, fails.
 * @param read Returns the kind of the document. Throws UnreadableDocumentError for a document that cannot be read.
 * @throws any other error of `read`.
 */
export async function collectText(
  bytesMax: number,
  read: (sink: TextSink) => DocumentKind | Promise<DocumentKind>,
): Promise<ExtractionResult> {
  const sink = createTextSink({ bytesMax });
  try {
    const kind = await read(sink);
    const { text, chars } = sink.finish();
    if (!hasVisibleText(text)) throw new UnreadableDocumentError('has no text');
    return { type: 'text', kind, text, chars };
  } catch (error) {
    if (error instanceof UnreadableDocumentError) return { type: 'failed', reason: `The file ${error.message}.` };
    throw error;
  }
}

/** Whether any byte is above the space, i.e. neither whitespace nor a line end. */
const hasVisibleText = (text: Uint8Array): boolean => text.some((byte) => byte > 0x20);
