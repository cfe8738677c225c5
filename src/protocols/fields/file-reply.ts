import { attachmentOf } from '../../lib/content-disposition.ts';
import type { Files } from '../../resources/files/file.ts';
import type { FileRecord } from '../../store/files.ts';
import type { BytesReply } from '../endpoint.ts';

/**
 * What somebody uploaded, to whoever may have it. It is stored and never shown: not by its name, not by what its bytes
 * look like, and without any right of our origin's where a browser shows it all the same.
 */
export const fileReply = (file: FileRecord, files: Pick<Files, 'read'>): BytesReply => ({
  type: 'bytes',
  sizeBytes: file.sizeBytes,
  tag: file.md5,
  headers: {
    'content-type': 'application/octet-stream',
    'content-disposition': attachmentOf(file.name),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'cache-control': 'private, no-store',
  },
  open: (range) => files.read(file, range),
});
