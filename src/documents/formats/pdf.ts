import { getDocumentProxy } from 'unpdf';
import type { TextSink } from '../text-sink.ts';
import { UnreadableDocumentError, createPasswordError } from '../unreadable-document-error.ts';

export interface PdfLimits {
  readonly pagesMax: number;
}

/** Log level of the library: errors are thrown, warnings are not needed. */
const VERBOSITY_ERRORS = 0;

/**
 * Reads the text of the pages in drawing order, with an empty line between pages.
 * @throws UnreadableDocumentError if the PDF is encrypted or damaged, has no text, or uses a font without its
 * character map.
 */
export async function readPdf(bytes: Uint8Array, sink: Pick<TextSink, 'push'>, { pagesMax }: PdfLimits): Promise<void> {
  /** Names of the character maps (CMaps) that fonts refer to and the file does not contain. */
  const missingMaps = new Set<string>();
  /** Refuses the files that the library requests: character maps, and fonts for drawing. */
  class MissingFiles {
    fetch({ kind, filename }: { readonly kind: string; readonly filename: string }): Promise<never> {
      if (kind === 'cMapUrl') missingMaps.add(filename.replace(/\.bcmap$/, ''));
      return Promise.reject(new Error(`${filename} is not available`));
    }
  }
  const document = await getDocumentProxy(bytes, {
    BinaryDataFactory: MissingFiles,
    cMapUrl: 'none/',
    standardFontDataUrl: 'none/',
    useWorkerFetch: false,
    useSystemFonts: false,
    disableFontFace: true,
    verbosity: VERBOSITY_ERRORS,
  }).catch(mapPdfError);
  try {
    if (document.numPages > pagesMax) throw new UnreadableDocumentError(`has more than ${pagesMax} pages`);
    let hasText = false;
    for (let number = 1; number <= document.numPages; number++) {
      const page = await document.getPage(number);
      const { items } = await page.getTextContent();
      if (missingMaps.size > 0) {
        const names = [...missingMaps].join(', ').slice(0, 100);
        throw new UnreadableDocumentError(`uses fonts with character maps that are not embedded (${names})`);
      }
      let isFirst = true;
      for (const item of items) {
        if (!('str' in item)) continue;
        if (isFirst && hasText && item.str !== '') sink.push('\n\n');
        if (item.str !== '') {
          hasText = true;
          isFirst = false;
        }
        sink.push(item.str);
        if (item.hasEOL && !isFirst) sink.push('\n');
      }
      page.cleanup();
    }
    if (!hasText) throw new UnreadableDocumentError('has no text: its pages are images or empty');
  } finally {
    await document.cleanup();
  }
}

function mapPdfError(error: unknown): never {
  const name = error instanceof Error ? error.name : '';
  if (name === 'PasswordException') throw createPasswordError();
  if (name === 'InvalidPDFException' || name === 'UnknownErrorException' || name === 'FormatError')
    throw new UnreadableDocumentError('is a damaged PDF');
  throw error;
}
