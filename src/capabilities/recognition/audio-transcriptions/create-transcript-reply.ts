import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { createIncompleteAnswerError } from '../../../core/generation-errors.ts';
import { createJsonReply } from '../../../protocols/endpoint.ts';
import type { BytesReply, Reply } from '../../../protocols/endpoint.ts';
import { encodeTranscription } from './encode.ts';
import type { ScoredSentence, UploadTranscript } from './encode.ts';
import type { ResponseFormat } from './schema.ts';
import type { RecognitionEvent } from './stream.ts';

interface TranscriptReplyOptions extends Pick<UploadTranscript, 'granularities' | 'task'> {
  readonly format: ResponseFormat;
}

/** Waits for the end of a recognition and creates the response in the requested format. */
export async function createTranscriptReply(
  events: AsyncIterable<readonly RecognitionEvent[]>,
  { format, ...options }: TranscriptReplyOptions,
  headers: Readonly<Record<string, string>>,
): Promise<Reply> {
  const encoded = encodeTranscription(format, { ...(await collectTranscript(events)), ...options });
  return 'json' in encoded
    ? createJsonReply(encoded.json, headers)
    : createTextReply(encoded.text.text, { 'content-type': encoded.text.type, ...headers });
}

/** Collects all events of a recognition. @throws ServiceError `engine-failed` if the end event is missing. */
async function collectTranscript(
  batches: AsyncIterable<readonly RecognitionEvent[]>,
): Promise<Pick<UploadTranscript, 'sentences' | 'audioMetadata'>> {
  const sentences: ScoredSentence[] = [];
  for await (const batch of batches) {
    for (const event of batch) {
      if (event.type === 'end') return { sentences, audioMetadata: event.audioMetadata };
      sentences.push(...event.sentences);
    }
  }
  throw createIncompleteAnswerError();
}

/** Creates a plain text response. */
function createTextReply(text: string, headers: Readonly<Record<string, string>>): BytesReply {
  const bytes = Buffer.from(text);
  return {
    type: 'bytes',
    sizeBytes: bytes.length,
    etag: createHash('sha256').update(bytes).digest('hex'),
    headers: { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store', ...headers },
    open: async (range) => Readable.from([bytes.subarray(range?.start ?? 0, (range?.end ?? bytes.length) + 1)]),
  };
}
