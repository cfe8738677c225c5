import type { RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { Files, ReceivedFile } from '../../resources/files/file.ts';
import type { UploadPart } from '../endpoint.ts';
import { createMissingParameterError } from '../parse.ts';

/** One file of an upload: received, or rejected with an error. */
export type UploadedFile = { readonly fileName: string } & (
  | { readonly received: ReceivedFile }
  | { readonly received?: undefined; readonly error: ServiceError }
);

export interface ReceivedUpload {
  /** Files in the order in which the client sent them. */
  readonly files: readonly UploadedFile[];
  /** Form values by field name, each in the order in which the client sent them. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
  /** Field names of files that the endpoint does not use; their content was skipped. */
  readonly unknown: readonly string[];
  /**
   * Keeps the files after `use` has returned, for a stream that still reads them. Returns the function that discards
   * them, which must be called once.
   */
  readonly retainFiles: () => () => Promise<void>;
}

export interface ReceiveUploadOptions {
  readonly files: Files;
  readonly upload: AsyncIterable<UploadPart> | undefined;
  readonly context: Pick<RequestContext, 'owner' | 'signal'>;
  /** Names of the form fields that contain files. */
  readonly fileFieldNames: readonly string[];
  /** Size limit of each file, besides those of `files`. Beyond: `too-large`. */
  readonly fileBytesMax?: number;
  /**
   * Called for each form value as it arrives; an error it throws ends the upload before the following files are read.
   */
  readonly checkField?: (name: string, value: string) => void;
  /** Tells whether an error affects only its file; otherwise it fails the whole upload. */
  readonly isFileFailure: (error: ServiceError) => boolean;
}

/**
 * Receives the files of an upload one after the other and passes them to `use`, which keeps those it needs. Nothing is
 * kept before the whole upload has arrived, so an interrupted upload or one with an invalid field leaves nothing
 * behind.
 * @throws ServiceError `invalid-request` for a file sent as a text field; any error of `files`, the upload or the
 * callbacks.
 */
export async function receiveUpload<T>(
  options: ReceiveUploadOptions,
  use: (received: ReceivedUpload) => Promise<T>,
): Promise<T> {
  const { files, upload = emptyUpload(), context, fileFieldNames, fileBytesMax, checkField, isFileFailure } = options;
  const { owner, signal } = context;
  const uploadedFiles: UploadedFile[] = [];
  const fields = new Map<string, string[]>();
  const unknown: string[] = [];
  let isRetained = false;
  // `discard` has no effect on files that `use` has kept.
  const discard = (): Promise<void> =>
    files.discard(
      owner,
      uploadedFiles.flatMap(({ received }) => received ?? []),
    );
  const retainFiles = () => {
    isRetained = true;
    return discard;
  };
  try {
    for await (const part of upload) {
      const isFile = fileFieldNames.includes(part.name);
      if (part.type === 'field') {
        if (isFile) throw createNotAFileError(part.name);
        checkField?.(part.name, part.value);
        fields.set(part.name, [...(fields.get(part.name) ?? []), part.value]);
      } else if (isFile) {
        uploadedFiles.push({
          fileName: part.fileName,
          ...(await receiveFile(files.receive(owner, limitBytes(part, fileBytesMax), { signal }), isFileFailure)),
        });
      } else unknown.push(part.name);
    }
    return await use({ files: uploadedFiles, fields, unknown, retainFiles });
  } catch (thrown) {
    isRetained = false;
    throw thrown;
  } finally {
    if (!isRetained) await discard();
  }
}

/** Returns the only file of an upload. @throws ServiceError `invalid-request` if the field of the file is absent or repeated. */
export function getOnlyFile(
  { files: [file, second] }: ReceivedUpload,
  name = 'file',
): { fileName: string; received: ReceivedFile } {
  if (!file?.received) throw createMissingParameterError(name);
  if (second) throw new ServiceError('invalid-request', `${name} must be one file.`, { param: name });
  return file;
}

async function receiveFile(receiving: Promise<ReceivedFile>, isFileFailure: ReceiveUploadOptions['isFileFailure']) {
  try {
    return { received: await receiving };
  } catch (thrown) {
    const error = ServiceError.from(thrown);
    if (!isFileFailure(error)) throw error;
    return { error };
  }
}

const createNotAFileError = (name: string): ServiceError =>
  new ServiceError('invalid-request', `${name} must be a file, with a filename in its Content-Disposition.`, {
    param: name,
  });

async function* emptyUpload(): AsyncGenerator<never> {}

/** Passes the bytes of a file on. @throws ServiceError `too-large` naming its field beyond the limit. */
async function* limitBytes(
  { name, bytes }: Extract<UploadPart, { type: 'file' }>,
  bytesMax = Infinity,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.byteLength;
    if (size > bytesMax)
      throw new ServiceError('too-large', `${name} may have at most ${bytesMax} bytes.`, { param: name });
    yield chunk;
  }
}
