import type { FileRecord } from '../../../store/files.ts';

/** wire.md E9.2. A file is there whole or not at all, so there is no other status. */
export const encodeFile = ({ id, sizeBytes, name, purpose, createdAt }: FileRecord): object => ({
  id,
  object: 'file',
  bytes: sizeBytes,
  filename: name,
  purpose,
  status: 'processed',
  created_at: Math.floor(createdAt / 1000),
});

export const encodeFileList = (files: readonly FileRecord[], { hasMore }: { readonly hasMore: boolean }): object => ({
  object: 'list',
  data: files.map(encodeFile),
  has_more: hasMore,
});

export const encodeFileDeleted = (id: string): object => ({ id, object: 'file', deleted: true });
