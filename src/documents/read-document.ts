import {
  DOCUMENT_PAGES_MAX,
  DOCUMENT_UNPACKED_BYTES_MAX,
  DOCUMENT_ZIP_ENTRIES_MAX,
  DOCUMENT_ZIP_FILE_BYTES_MAX,
} from '../core/limits.ts';
import { detectKind } from './detect-kind.ts';
import type { DocumentKind, Extracted } from './document.ts';
import { createFlow } from './flow.ts';
import { readDocx } from './formats/docx.ts';
import { readEpub } from './formats/epub.ts';
import { readHtml } from './formats/html.ts';
import { contentTypes } from './formats/office-parts.ts';
import { readPdf } from './formats/pdf.ts';
import { readPlain } from './formats/plain.ts';
import { readPptx } from './formats/pptx.ts';
import { readXlsx } from './formats/xlsx.ts';
import { createTextSink, type TextSink } from './text-sink.ts';
import { Unreadable } from './unreadable.ts';
import { openZip, type Zip } from './zip.ts';

/**
 * The text of a document that is in memory. What it takes besides is bounded by whoever runs it: this is for a process of
 * its own.
 * @throws whatever a library throws for what it does not understand.
 */
export async function readDocument(
  bytes: Uint8Array,
  { name, textBytesMax }: { readonly name: string; readonly textBytesMax: number },
): Promise<Extracted> {
  const sink = createTextSink({ bytesMax: textBytesMax });
  try {
    const kind = await readInto(sink, bytes, name);
    const { text, chars } = sink.end();
    if (!hasWords(text)) throw new Unreadable('has no text');
    return { type: 'text', kind, text, chars };
  } catch (error) {
    if (error instanceof Unreadable) return { type: 'failed', reason: `The file ${error.message}.` };
    throw error;
  }
}

async function readInto(sink: TextSink, bytes: Uint8Array, name: string): Promise<DocumentKind> {
  const kind = detectKind(bytes, name);
  switch (kind) {
    case 'archive':
      return readArchive(bytes, sink);
    case 'pdf':
      await readPdf(bytes, sink, { pagesMax: DOCUMENT_PAGES_MAX });
      return kind;
    case 'html':
      readHtml(bytes, createFlow(sink));
      return kind;
    case 'text':
    case 'markdown':
    case 'csv':
    case 'json':
      readPlain(bytes, sink);
      return kind;
  }
}

function readArchive(bytes: Uint8Array, sink: TextSink): DocumentKind {
  const zip = openZip(bytes, {
    entriesMax: DOCUMENT_ZIP_ENTRIES_MAX,
    fileBytesMax: DOCUMENT_ZIP_FILE_BYTES_MAX,
    allBytesMax: DOCUMENT_UNPACKED_BYTES_MAX,
  });
  const kind = kindInside(zip);
  switch (kind) {
    case 'docx':
      readDocx(zip, createFlow(sink));
      return kind;
    case 'xlsx':
      readXlsx(zip, sink);
      return kind;
    case 'pptx':
      readPptx(zip, createFlow(sink));
      return kind;
    case 'epub':
      readEpub(zip, createFlow(sink));
      return kind;
  }
}

function kindInside(zip: Zip): 'docx' | 'xlsx' | 'pptx' | 'epub' {
  if (zip.has('META-INF/container.xml')) return 'epub';
  if (!zip.has('[Content_Types].xml')) throw new Unreadable('is an archive of other files, which is not read');
  for (const type of contentTypes(zip).values()) {
    if (!type.endsWith('main+xml')) continue;
    if (/wordprocessingml|ms-word/.test(type)) return 'docx';
    if (/spreadsheetml|ms-excel/.test(type)) return 'xlsx';
    if (/presentationml|ms-powerpoint/.test(type)) return 'pptx';
  }
  throw new Unreadable('is of an office format that is not read');
}

/** Blanks and ends of lines are no text; all else is above them. */
const hasWords = (text: Uint8Array): boolean => text.some((byte) => byte > 0x20);
