import type { FileRecord } from '../../../store/files.ts';
import type { FileTextRecord } from '../../../store/file-texts.ts';
import { encodeFileStatus } from '../../fields/file-status.ts';

/**
 * Encodes a file (docs/wire/openai-compatible.md#files).
 * @param text State of its text extraction; undefined if none.
 */
export const encodeFile = (
  { id, sizeBytes, name, purpose, createdAt }: FileRecord,
  text: FileTextRecord | undefined,
): object => ({
  id,
  object: 'file',
  bytes: sizeBytes,
  filename: name,
  purpose,
  status: encodeFileStatus(text),
  created_at: Math.floor(createdAt / 1000),
  ...(text?.state === 'failed' ? { status_details: text.reason } : {}),
});

interface FilePage {
  readonly texts: ReadonlyMap<string, FileTextRecord>;
  readonly hasMore: boolean;
}

export const encodeFileList = (files: readonly FileRecord[], { texts, hasMore }: FilePage): object => ({
  object: 'list',
  data: files.map((file) => encodeFile(file, texts.get(file.id))),
  has_more: hasMore,
});

export const encodeFileDeleted = (id: string): object => ({ id, object: 'file', deleted: true });
