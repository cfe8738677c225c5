import { z } from 'zod';
import type { ErrorKind } from '../../../core/error.ts';
import { UPLOAD_EXTRA_BYTES_MAX } from '../../limits.ts';
import { FILE_PAGE_MAX } from '../limits.ts';
import { FILE_PURPOSES } from '../../../resources/files/file.ts';
import type { Files } from '../../../resources/files/file.ts';
import { cleanName } from '../../../resources/files/rules.ts';
import { DOWNLOADS_PATH } from '../../../resources/files/signed-links.ts';
import type { SignedLinks } from '../../../resources/files/signed-links.ts';
import type { Texts } from '../../../resources/texts/service.ts';
import type { FileRecord } from '../../../store/files.ts';
import { createJsonReply } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { createFileReply } from '../../fields/file-reply.ts';
import { receiveUpload } from '../../fields/receive-upload.ts';
import type { ZonedTime } from '../../fields/zoned-time.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { createMissingParameterError, parseBody, createFieldError } from '../../parse.ts';
import { queryToObject } from '../../fields/list-query.ts';
import { createPageFields, decodePage, createPageTexts, getPageOffset } from '../page.ts';
import { encodeFile, encodeFileList, encodeUpload } from './encode.ts';
import type { FileEncodingContext } from './encode.ts';

export interface NativeFilesDeps {
  readonly files: Files;
  readonly links: SignedLinks;
  readonly texts: Pick<Texts, 'findStates'>;
  readonly time: ZonedTime;
  /** Limit of the total bytes of one upload. */
  readonly uploadBytesMax: number;
}

const shared = { family: 'native', regions: INTERFACES.files.regions } as const;
const FILES_PATH = '/api/v1/files';
const FILE_PATH = `${FILES_PATH}/:id`;

/** Part names of files. SDKs send no purpose and use either name (docs/wire/clients.md#client-pitfalls). */
const FILE_FIELD_NAMES = ['files', 'file', 'files[]'];
const PURPOSE_DEFAULT = 'fine-tune';
const TEXT_FIELD_NAMES = ['purpose', 'descriptions', 'description'];

/** Errors that fail one file of an upload, not the whole upload. */
const FILE_FAILURES: readonly ErrorKind[] = ['too-large', 'storage-quota', 'count-quota', 'overloaded'];

const ListQuery = z.object({ ...createPageFields(FILE_PAGE_MAX), purpose: z.string().optional() });

/** Creates the native file endpoints (docs/wire/dashscope-native.md#files). */
export function createNativeFilesEndpoints({
  files,
  links,
  texts,
  time,
  uploadBytesMax,
}: NativeFilesDeps): readonly Endpoint[] {
  const loadEncodingContext = async (records: readonly FileRecord[], keyId: string): Promise<FileEncodingContext> => {
    const states = await texts.findStates(records);
    // The link ends with the key that gets it, which need not be the one that uploaded the file.
    const createLink = ({ id, region }: FileRecord): string => links.createLink({ id, region, keyId });
    return { createLink, formatTime: time.format, findText: ({ id }) => states.get(id) };
  };
  return [
    {
      ...shared,
      operation: 'files.upload',
      method: 'POST',
      path: FILES_PATH,
      onDisconnect: 'finish',
      uploadBytesMax: uploadBytesMax + UPLOAD_EXTRA_BYTES_MAX,
      handle: ({ upload }, context) =>
        receiveUpload(
          {
            files,
            upload,
            context,
            fileFieldNames: FILE_FIELD_NAMES,
            checkField(name, value) {
              if (name === 'purpose' && value !== '') checkPurpose(value);
            },
            isFileFailure: ({ kind }) => FILE_FAILURES.includes(kind),
          },
          async ({ files: receivedFiles, fields, unknown }) => {
            if (receivedFiles.length === 0) throw createMissingParameterError('files');
            const purpose = fields.get('purpose')?.findLast((value) => value !== '') ?? PURPOSE_DEFAULT;
            const descriptions = fields.get('descriptions') ?? fields.get('description') ?? [];
            const accepted = receivedFiles.flatMap(({ fileName, received }, index) => {
              const draft = { name: fileName, description: getDescription(descriptions, index), purpose };
              return received ? { received, draft } : [];
            });
            const failed = receivedFiles.flatMap((file) =>
              file.received ? [] : { name: cleanName(file.fileName), error: file.error },
            );
            const uploaded = await files.commit(context.owner, accepted);
            const names = [...unknown, ...[...fields.keys()].filter((name) => !TEXT_FIELD_NAMES.includes(name))];
            return createJsonReply(encodeUpload({ uploaded, failed }, context.requestId), encodeIgnoredHeader(names));
          },
        ),
    },
    {
      ...shared,
      operation: 'files.list',
      method: 'GET',
      path: FILES_PATH,
      onDisconnect: 'cancel',
      async handle({ query }, { owner, requestId }) {
        const { wire, unknown } = parseBody(ListQuery, queryToObject(query), { texts: createPageTexts(FILE_PAGE_MAX) });
        const page = decodePage(wire);
        const { purpose } = wire;
        const [total, found] = await Promise.all([
          files.count(owner, purpose),
          files.list(owner, { purpose, limit: page.size, skip: getPageOffset(page) }),
        ]);
        const encoding = await loadEncodingContext(found, owner.keyId);
        return createJsonReply(
          encodeFileList({ total, files: found }, page, encoding, requestId),
          encodeIgnoredHeader(unknown),
        );
      },
    },
    {
      ...shared,
      operation: 'files.get',
      method: 'GET',
      path: FILE_PATH,
      onDisconnect: 'cancel',
      async handle({ params: { id = '' } }, { owner, requestId }) {
        const file = await files.find(owner, id);
        return createJsonReply(encodeFile(file, await loadEncodingContext([file], owner.keyId), requestId));
      },
    },
    {
      ...shared,
      operation: 'files.delete',
      method: 'DELETE',
      path: FILE_PATH,
      onDisconnect: 'finish',
      async handle({ params: { id = '' } }, { owner, requestId }) {
        await files.delete(owner, id);
        return createJsonReply({ request_id: requestId });
      },
    },
    {
      ...shared,
      operation: 'files.download',
      method: 'GET',
      path: `${DOWNLOADS_PATH}/:id`,
      onDisconnect: 'cancel',
      async resolveOwner({ params: { id = '' }, query }) {
        const keyId = await links.check(id, query);
        const { workspace, region } = await files.findAnywhere(id);
        return { workspace, region, keyId };
      },
      handle: async ({ params: { id = '' } }, { owner }) => createFileReply(await files.find(owner, id), files),
    },
  ];
}

/** Returns the description of a file: one value applies to all files, several to the files in their order. */
const getDescription = (descriptions: readonly string[], index: number): string =>
  (descriptions.length === 1 ? descriptions[0] : descriptions[index]) ?? '';

function checkPurpose(purpose: string): void {
  if (FILE_PURPOSES.some((known) => known === purpose)) return;
  throw createFieldError('purpose', `purpose must be one of ${FILE_PURPOSES.join(', ')}`, purpose);
}
