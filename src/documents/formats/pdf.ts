import { getDocumentProxy } from 'unpdf';
import type { TextSink } from '../text-sink.ts';
import { Unreadable } from '../unreadable.ts';

export interface PdfLimits {
  readonly pagesMax: number;
}

/** Only errors are of interest, and those are thrown. */
const SILENT = 0;

/**
 * The text of the pages, in the order in which they draw it, with an empty line between pages.
 * @throws Unreadable where it is locked or damaged, where all of its pages are pictures, or where a font of it cannot be told.
 */
export async function readPdf(bytes: Uint8Array, sink: Pick<TextSink, 'push'>, { pagesMax }: PdfLimits): Promise<void> {
  /** Of fonts that are not in the file and have no letters of their own. */
  const lacking = new Set<string>();
  /** Asked for files beside the library: maps of letters, and fonts for drawing. */
  class OwnFiles {
    fetch({ kind, filename }: { readonly kind: string; readonly filename: string }): Promise<never> {
      if (kind === 'cMapUrl') lacking.add(filename.replace(/\.bcmap$/, ''));
      return Promise.reject(new Error(`${filename} is not here`));
    }
  }
  const document = await getDocumentProxy(bytes, {
    BinaryDataFactory: OwnFiles,
    cMapUrl: 'none/',
    standardFontDataUrl: 'none/',
    useWorkerFetch: false,
    useSystemFonts: false,
    disableFontFace: true,
    verbosity: SILENT,
  }).catch(refused);
  try {
    if (document.numPages > pagesMax) throw new Unreadable(`has more than ${pagesMax} pages`);
    let hasText = false;
    for (let number = 1; number <= document.numPages; number++) {
      const page = await document.getPage(number);
      const { items } = await page.getTextContent();
      if (lacking.size > 0) {
        const names = [...lacking].join(', ').slice(0, 100);
        throw new Unreadable(`has fonts whose letters cannot be told without files that are not here (${names})`);
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
    if (!hasText) throw new Unreadable('has no text: its pages are pictures, or empty');
  } finally {
    await document.cleanup();
  }
}

function refused(error: unknown): never {
  const name = error instanceof Error ? error.name : '';
  if (name === 'PasswordException') throw new Unreadable('is protected by a password');
  if (name === 'InvalidPDFException' || name === 'UnknownErrorException' || name === 'FormatError')
    throw new Unreadable('is no PDF that can be read: it is damaged');
  throw error;
}
