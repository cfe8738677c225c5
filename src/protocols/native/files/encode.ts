import type { ServiceError } from '../../../core/error.ts';
import type { FileRecord } from '../../../store/files.ts';
import type { FileTextRecord } from '../../../store/file-texts.ts';
import { encodeFileStatus } from '../../fields/file-status.ts';
import { encodeCodeAndMessage } from '../errors.ts';
import type { PageRequest } from '../page.ts';

/** Functions of the service that the encoding of a file record uses. */
export interface FileEncodingContext {
  /** Creates a temporary download URL. */
  readonly createLink: (file: FileRecord) => string;
  /** Formats UTC milliseconds as `YYYY-MM-DD HH:MM:SS` in the service's time zone. */
  readonly formatTime: (ms: number) => string;
  /** Finds the state of the file's text extraction; undefined for files whose text is not extracted. */
  readonly findText: (file: FileRecord) => FileTextRecord | undefined;
}

/** Encodes a file record (docs/wire/dashscope-native.md#files), with the status of its text extraction, if any. */
function encodeRecord(file: FileRecord, { createLink, formatTime, findText }: FileEncodingContext): object {
  const text = findText(file);
  return {
    id: file.number,
    name: file.name,
    description: file.description,
    purpose: file.purpose,
    size: file.sizeBytes,
    md5: file.md5,
    region: file.region,
    file_id: file.id,
    url: createLink(file),
    user_id: file.workspace,
    api_key_id: file.keyId,
    gmt_create: formatTime(file.createdAt),
    ...(text ? { status: encodeFileStatus(text) } : {}),
    ...(text?.state === 'failed' ? { status_details: text.reason } : {}),
  };
}

export const encodeFile = (file: FileRecord, encoding: FileEncodingContext, requestId: string): object => ({
  data: encodeRecord(file, encoding),
  request_id: requestId,
});

export const encodeFileList = (
  { total, files }: { readonly total: number; readonly files: readonly FileRecord[] },
  { number, size }: PageRequest,
  encoding: FileEncodingContext,
  requestId: string,
): object => ({
  data: { total, files: files.map((file) => encodeRecord(file, encoding)), page_no: number, page_size: size },
  request_id: requestId,
});

interface UploadOutcome {
  readonly uploaded: readonly FileRecord[];
  readonly failed: readonly { readonly name: string; readonly error: ServiceError }[];
}

/** Encodes the upload's response; failed files are reported inside the 200. */
export const encodeUpload = ({ uploaded, failed }: UploadOutcome, requestId: string): object => ({
  data: {
    uploaded_files: uploaded.map(({ name, id }) => ({ name, file_id: id })),
    failed_uploads: failed.map(({ name, error }) => ({ name, ...encodeFailure(error) })),
  },
  request_id: requestId,
});

function encodeFailure(error: ServiceError): { readonly code: string; readonly message: string } {
  if (error.kind === 'count-quota') return { code: 'BadRequest.TooMany', message: error.message };
  return encodeCodeAndMessage(error);
}
