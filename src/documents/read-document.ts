import {
  DOCUMENT_PAGES_MAX,
  DOCUMENT_UNPACKED_BYTES_MAX,
  DOCUMENT_ZIP_ENTRIES_MAX,
  DOCUMENT_ZIP_FILE_BYTES_MAX,
} from './limits.ts';
import { collectText } from './collect-text.ts';
import { detectKind } from './detect-kind.ts';
import type { DocumentKind, ExtractionResult } from './document.ts';
import { createTextLayout } from './text-layout.ts';
import { readDocx } from './formats/docx.ts';
import { readEpub } from './formats/epub.ts';
import { readHtml } from './formats/html.ts';
import { readContentTypes } from './formats/office-parts.ts';
import { readPdf } from './formats/pdf.ts';
import { readPlainText } from './formats/plain.ts';
import { readPptx } from './formats/pptx.ts';
import { readXlsx } from './formats/xlsx.ts';
import type { TextSink } from './text-sink.ts';
import { UnreadableDocumentError } from './unreadable-document-error.ts';
import { openZip, type ZipArchive } from './zip.ts';

/**
 * Extracts the text of a document in memory. Runs in a separate process, which limits its time and memory.
 * @throws any error of a library that cannot read the document.
 */
export const readDocument = (
  bytes: Uint8Array,
  { name, textBytesMax }: { readonly name: string; readonly textBytesMax: number },
): Promise<ExtractionResult> => collectText(textBytesMax, (sink) => readByKind(sink, bytes, name));

async function readByKind(sink: TextSink, bytes: Uint8Array, name: string): Promise<DocumentKind> {
  const kind = detectKind(bytes, name);
  switch (kind) {
    case 'archive':
      return readArchive(bytes, sink);
    case 'pdf':
      await readPdf(bytes, sink, { pagesMax: DOCUMENT_PAGES_MAX });
      return kind;
    case 'html':
      readHtml(bytes, createTextLayout(sink));
      return kind;
    case 'text':
    case 'markdown':
    case 'csv':
    case 'json':
      readPlainText(bytes, sink);
      return kind;
  }
}

function readArchive(bytes: Uint8Array, sink: TextSink): DocumentKind {
  const zip = openZip(bytes, {
    entriesMax: DOCUMENT_ZIP_ENTRIES_MAX,
    fileBytesMax: DOCUMENT_ZIP_FILE_BYTES_MAX,
    totalBytesMax: DOCUMENT_UNPACKED_BYTES_MAX,
  });
  const kind = detectArchiveKind(zip);
  switch (kind) {
    case 'docx':
      readDocx(zip, createTextLayout(sink));
      return kind;
    case 'xlsx':
      readXlsx(zip, sink);
      return kind;
    case 'pptx':
      readPptx(zip, createTextLayout(sink));
      return kind;
    case 'epub':
      readEpub(zip, createTextLayout(sink));
      return kind;
  }
}

function detectArchiveKind(zip: ZipArchive): 'docx' | 'xlsx' | 'pptx' | 'epub' {
  if (zip.has('META-INF/container.xml')) return 'epub';
  if (!zip.has('[Content_Types].xml')) throw new UnreadableDocumentError('is an archive without a supported document');
  for (const type of readContentTypes(zip).values()) {
    if (!type.endsWith('main+xml')) continue;
    if (/wordprocessingml|ms-word/.test(type)) return 'docx';
    if (/spreadsheetml|ms-excel/.test(type)) return 'xlsx';
    if (/presentationml|ms-powerpoint/.test(type)) return 'pptx';
  }
  throw new UnreadableDocumentError('has an unsupported office format');
}
