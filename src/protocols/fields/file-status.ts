import type { FileTextRecord } from '../../store/file-texts.ts';

/**
 * Returns the status of a file: `uploaded` while its text is being extracted (docs/wire/openai-compatible.md#files).
 */
export function encodeFileStatus(text: FileTextRecord | undefined): 'uploaded' | 'processed' | 'error' {
  switch (text?.state) {
    case 'waiting':
      return 'uploaded';
    case 'failed':
      return 'error';
    case 'parsed':
    case undefined:
      return 'processed';
  }
}
