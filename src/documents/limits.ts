/**
 * Limits of this folder. Each name contains the unit; each comment says what happens beyond the limit and where the
 * value comes from. `src/core/limits.ts` has those of several modules; docs/limits.md lists all.
 */

/** Bytes of the extracted text in UTF-8; enough for a context of a million tokens. */
export const DOCUMENT_TEXT_BYTES_MAX = 16 * 1024 * 1024;

/** Ms of CPU time to extract the text of a document. */
export const DOCUMENT_READ_MS_MAX = 60_000;

/** Megabytes of JavaScript heap, and bytes of resident memory, of the process that extracts it. */
export const DOCUMENT_HEAP_MB = 512;
export const DOCUMENT_RESIDENT_BYTES_MAX = 1024 ** 3;

/** Bytes of a plain text that is decoded within the service process. Beyond: in a separate process. */
export const INLINE_DOCUMENT_BYTES_MAX = 256 * 1024;

/** Pages of a PDF. */
export const DOCUMENT_PAGES_MAX = 10_000;

/** Nested elements in an HTML page or an XML file. */
export const DOCUMENT_DEPTH_MAX = 5_000;

/** Entries in a zip-based document, decompressed bytes of one entry, and of all entries that are read. */
export const DOCUMENT_ZIP_ENTRIES_MAX = 20_000;
export const DOCUMENT_ZIP_FILE_BYTES_MAX = 192 * 1024 * 1024;
export const DOCUMENT_UNPACKED_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Bytes of a plain text or a page that a process reads after others, documents that one process reads, and ms that an
 * idle one is kept. Beyond: the document, or the next one, gets a process of its own.
 */
export const REUSED_READER_DOCUMENT_BYTES_MAX = 8 * 1024 * 1024;
export const REUSED_READER_DOCUMENTS_MAX = 1_000;
export const REUSED_READER_IDLE_MS = 5_000;
