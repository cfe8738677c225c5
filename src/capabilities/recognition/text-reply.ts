import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { BytesReply } from '../../protocols/endpoint.ts';

/** Creates a plain text response. */
export function createTextReply(text: string, headers: Readonly<Record<string, string>>): BytesReply {
  const bytes = Buffer.from(text);
  return {
    type: 'bytes',
    sizeBytes: bytes.length,
    etag: createHash('sha256').update(bytes).digest('hex'),
    headers: { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store', ...headers },
    open: async (range) => Readable.from([bytes.subarray(range?.start ?? 0, (range?.end ?? bytes.length) + 1)]),
  };
}
