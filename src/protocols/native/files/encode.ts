import type { ServiceError } from '../../../core/error.ts';
import type { FileRecord } from '../../../store/files.ts';
import type { TextRecord } from '../../../store/texts.ts';
import { fileStatus } from '../../fields/file-status.ts';
import { codeAndMessage } from '../errors.ts';
import type { Page } from '../page.ts';

export interface FileWords {
  /** Where its bytes can be got for a while. */
  readonly linkTo: (file: FileRecord) => string;
  /** `YYYY-MM-DD HH:MM:SS` in the service's zone. */
  readonly show: (ms: number) => string;
  /** What is known of its text, where that is read. */
  readonly textOf: (file: FileRecord) => TextRecord | undefined;
}

/** Specification, "File record", and wire.md E9.1; of a file whose text is read, how far that is, in the words of the other face. */
function encodeRecord(file: FileRecord, { linkTo, show, textOf }: FileWords): object {
  const text = textOf(file);
  return {
    id: file.number,
    name: file.name,
    description: file.description,
    purpose: file.purpose,
    size: file.sizeBytes,
    md5: file.md5,
    region: file.region,
    file_id: file.id,
    url: linkTo(file),
    user_id: file.workspace,
    api_key_id: file.keyId,
    gmt_create: show(file.createdAt),
    ...(text ? { status: fileStatus(text) } : {}),
    ...(text?.state === 'failed' ? { status_details: text.reason } : {}),
  };
}

export const encodeFile = (file: FileRecord, words: FileWords, requestId: string): object => ({
  data: encodeRecord(file, words),
  request_id: requestId,
});

export const encodeFilePage = (
  { total, files }: { readonly total: number; readonly files: readonly FileRecord[] },
  { number, size }: Page,
  words: FileWords,
  requestId: string,
): object => ({
  data: { total, files: files.map((file) => encodeRecord(file, words)), page_no: number, page_size: size },
  request_id: requestId,
});

interface UploadOutcome {
  readonly kept: readonly FileRecord[];
  readonly failed: readonly { readonly name: string; readonly error: ServiceError }[];
}

/** wire.md E9.1: what failed stands inside the 200. */
export const encodeUpload = ({ kept, failed }: UploadOutcome, requestId: string): object => ({
  data: {
    uploaded_files: kept.map(({ name, id }) => ({ name, file_id: id })),
    failed_uploads: failed.map(({ name, error }) => ({ name, ...failureOf(error) })),
  },
  request_id: requestId,
});

function failureOf(error: ServiceError): { readonly code: string; readonly message: string } {
  if (error.kind === 'count-quota') return { code: 'BadRequest.TooMany', message: error.message };
  return codeAndMessage(error);
}
