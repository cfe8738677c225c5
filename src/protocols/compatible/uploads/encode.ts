import type { UploadPartRecord, UploadRecord } from '../../../store/uploads.ts';
import { toUnixSeconds } from '../../../lib/clock.ts';

/**
 * Encodes an upload in parts (docs/wire/openai-compatible.md#uploads).
 * @param file The encoded file of a completed upload.
 */
export const encodeUpload = (
  { id, sizeBytes, createdAt, expiresAt, name, purpose, status }: UploadRecord,
  file: object | null = null,
): object => ({
  id,
  object: 'upload',
  bytes: sizeBytes,
  created_at: toUnixSeconds(createdAt),
  expires_at: toUnixSeconds(expiresAt),
  filename: name,
  purpose,
  status,
  file,
});

export const encodeUploadPart = ({ id, uploadId, createdAt }: UploadPartRecord): object => ({
  id,
  object: 'upload.part',
  created_at: toUnixSeconds(createdAt),
  upload_id: uploadId,
});
