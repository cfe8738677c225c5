import type { RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { Files, ReceivedFile } from '../../resources/files/file.ts';
import type { UploadPart } from '../endpoint.ts';

/** A file of an upload: it came in, or why it did not. */
export type TakenFile = { readonly fileName: string } & (
  | { readonly received: ReceivedFile }
  | { readonly received?: undefined; readonly refused: ServiceError }
);

export interface TakenUpload {
  /** In the order in which they were sent. */
  readonly files: readonly TakenFile[];
  /** Values by name, each in the order in which they were sent. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
  /** Names of files that nobody asked for: they were passed over. */
  readonly unknown: readonly string[];
}

export interface TakeFiles {
  readonly files: Files;
  readonly upload: AsyncIterable<UploadPart> | undefined;
  readonly context: Pick<RequestContext, 'owner' | 'signal'>;
  /** Parts under these names are files. */
  readonly names: readonly string[];
  /** Told of each field as it comes: what it refuses ends the upload before its files have come in. */
  readonly checkField?: (name: string, value: string) => void;
  /** Whether a file that is refused is the only one that fails. */
  readonly isFileFailure: (error: ServiceError) => boolean;
}

/**
 * Takes in the files of an upload one after the other, and then lets `use` keep those that it wants. Nothing is kept before
 * everything has come in: of an upload that breaks off, or of which a field is wrong, nothing is left.
 * @throws ServiceError `invalid-request` for a file sent as text; whatever `files`, the upload and the functions throw.
 */
export async function takeFiles<T>(wish: TakeFiles, use: (taken: TakenUpload) => Promise<T>): Promise<T> {
  const { files, upload = none(), context, names, checkField, isFileFailure } = wish;
  const { owner, signal } = context;
  const taken: TakenFile[] = [];
  const fields = new Map<string, string[]>();
  const unknown: string[] = [];
  try {
    for await (const part of upload) {
      const isFile = names.includes(part.name);
      if (part.type === 'field') {
        if (isFile) throw noFile(part.name);
        checkField?.(part.name, part.value);
        fields.set(part.name, [...(fields.get(part.name) ?? []), part.value]);
      } else if (isFile) {
        taken.push({
          fileName: part.fileName,
          ...(await take(files.receive(owner, part.bytes, { signal }), isFileFailure)),
        });
      } else unknown.push(part.name);
    }
    return await use({ files: taken, fields, unknown });
  } finally {
    // What was kept is not touched by it.
    await files.drop(
      owner,
      taken.flatMap(({ received }) => received ?? []),
    );
  }
}

async function take(receiving: Promise<ReceivedFile>, isFileFailure: TakeFiles['isFileFailure']) {
  try {
    return { received: await receiving };
  } catch (thrown) {
    const refused = ServiceError.from(thrown);
    if (!isFileFailure(refused)) throw refused;
    return { refused };
  }
}

const noFile = (name: string): ServiceError =>
  new ServiceError('invalid-request', `${name} must be a file, with a filename in its Content-Disposition.`, {
    param: name,
  });

async function* none(): AsyncGenerator<never> {}
