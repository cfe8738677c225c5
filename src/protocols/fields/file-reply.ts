import { createAttachmentHeader } from '../../lib/content-disposition.ts';
import type { Files } from '../../resources/files/file.ts';
import type { FileRecord } from '../../store/files.ts';
import type { BytesReply } from '../endpoint.ts';

/**
 * Creates the response for downloading an uploaded file. The headers keep a browser from displaying the file by its
 * name or its content, and from giving it any rights of Parley's origin.
 */
export const createFileReply = (file: FileRecord, files: Pick<Files, 'read'>): BytesReply => ({
  type: 'bytes',
  sizeBytes: file.sizeBytes,
  etag: file.md5,
  headers: {
    'content-type': 'application/octet-stream',
    'content-disposition': createAttachmentHeader(file.name),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'cache-control': 'private, no-store',
  },
  open: (range) => files.read(file, range),
});
