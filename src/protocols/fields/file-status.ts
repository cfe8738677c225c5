import type { TextRecord } from '../../store/texts.ts';

/** wire.md E9.2: `uploaded` while its text is being read; a file of which nothing is read is there, and that is all. */
export function fileStatus(text: TextRecord | undefined): 'uploaded' | 'processed' | 'error' {
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
