import type { FileRecord } from '../../../store/files.ts';
import type { TextRecord } from '../../../store/texts.ts';
import { fileStatus } from '../../fields/file-status.ts';

/** wire.md E9.2. @param text What is known of its text, where that is read. */
export const encodeFile = (
  { id, sizeBytes, name, purpose, createdAt }: FileRecord,
  text: TextRecord | undefined,
): object => ({
  id,
  object: 'file',
  bytes: sizeBytes,
  filename: name,
  purpose,
  status: fileStatus(text),
  created_at: Math.floor(createdAt / 1000),
  ...(text?.state === 'failed' ? { status_details: text.reason } : {}),
});

interface FilePage {
  readonly texts: ReadonlyMap<string, TextRecord>;
  readonly hasMore: boolean;
}

export const encodeFileList = (files: readonly FileRecord[], { texts, hasMore }: FilePage): object => ({
  object: 'list',
  data: files.map((file) => encodeFile(file, texts.get(file.id))),
  has_more: hasMore,
});

export const encodeFileDeleted = (id: string): object => ({ id, object: 'file', deleted: true });
