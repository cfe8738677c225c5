import { z } from 'zod';
import type { RequestLog } from '../../../core/context.ts';
import { INTERNAL_MESSAGE, ServiceError } from '../../../core/error.ts';
import { UPLOAD_EXTRA_BYTES_MAX } from '../../limits.ts';
import { FILE_LIST_MAX } from '../limits.ts';
import { FILE_PURPOSES } from '../../../resources/files/file.ts';
import type { Files } from '../../../resources/files/file.ts';
import type { Texts } from '../../../resources/texts/service.ts';
import type { FileRecord } from '../../../store/files.ts';
import { createJsonReply } from '../../endpoint.ts';
import type { Endpoint, Reply } from '../../endpoint.ts';
import { createFileReply } from '../../fields/file-reply.ts';
import {
  CREATED_RANGE_TEXTS,
  createCountField,
  createCreatedRangeFields,
  queryToObject,
} from '../../fields/list-query.ts';
import { getOnlyFile, receiveUpload } from '../../fields/receive-upload.ts';
import type { ZonedTime } from '../../fields/zoned-time.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { encodeFile, encodeFileDeleted, encodeFileList } from './encode.ts';

export interface CompatibleFilesDeps {
  readonly files: Files;
  readonly texts: Pick<Texts, 'findStates'>;
  readonly time: ZonedTime;
  /** Maximum size of one file. */
  readonly fileBytesMax: number;
  readonly strict?: boolean;
}

const shared = { family: 'compatible', regions: INTERFACES.compatibleFiles.regions } as const;
const ALL = '/compatible-mode/v1/files';
const ONE = `${ALL}/:id`;

/**
 * Creates the endpoints of files, which are the same files as on the native interface
 * (docs/wire/openai-compatible.md#files).
 */
export function createCompatibleFilesEndpoints({
  files,
  texts,
  time,
  fileBytesMax,
  strict = false,
}: CompatibleFilesDeps): readonly Endpoint[] {
  const ListQuery = createListQuery(time);
  const encodeWithStatus = async (file: FileRecord): Promise<object> =>
    encodeFile(file, (await texts.findStates([file])).get(file.id));
  return [
    {
      ...shared,
      operation: 'compatible-files.create',
      method: 'POST',
      path: ALL,
      onDisconnect: 'finish',
      uploadBytesMax: fileBytesMax + UPLOAD_EXTRA_BYTES_MAX,
      async handle({ upload }, context) {
        const options = { files, upload, context, fileFieldNames: ['file'], checkField, isFileFailure: () => false };
        try {
          return await receiveUpload(options, async (upload) => {
            const file = getOnlyFile(upload);
            const { fields, unknown } = upload;
            const purpose = fields.get('purpose')?.at(-1) ?? '';
            checkField('purpose', purpose);
            const draft = { name: file.fileName, description: '', purpose };
            const [kept] = await files.commit(context.owner, [{ received: file.received, draft }]);
            if (!kept) throw new ServiceError('internal', INTERNAL_MESSAGE);
            const names = [...unknown, ...[...fields.keys()].filter((name) => name !== 'purpose')];
            return createJsonReply(await encodeWithStatus(kept), encodeIgnoredHeader(names));
          });
        } catch (thrown) {
          if (thrown instanceof ServiceError && thrown.param === 'purpose')
            return createBadPurposeReply(thrown, context.log);
          throw thrown;
        }
      },
    },
    {
      ...shared,
      operation: 'compatible-files.list',
      method: 'GET',
      path: ALL,
      onDisconnect: 'cancel',
      async handle({ query }, { owner }) {
        const { wire, unknown } = parseBody(ListQuery, queryToObject(query), { texts: LIST_TEXTS, strict });
        const found = await files.list(owner, {
          purpose: wire.purpose,
          after: wire.after,
          createdFrom: wire.create_after,
          createdTo: wire.create_before,
          limit: wire.limit + 1,
        });
        const hasMore = found.length > wire.limit;
        const page = found.slice(0, wire.limit);
        const list = encodeFileList(page, { hasMore, texts: await texts.findStates(page) });
        return createJsonReply(list, encodeIgnoredHeader(unknown));
      },
    },
    {
      ...shared,
      operation: 'compatible-files.get',
      method: 'GET',
      path: ONE,
      onDisconnect: 'cancel',
      handle: async ({ params: { id = '' } }, { owner }) =>
        createJsonReply(await encodeWithStatus(await files.find(owner, id))),
    },
    {
      ...shared,
      operation: 'compatible-files.content',
      method: 'GET',
      path: `${ONE}/content`,
      onDisconnect: 'cancel',
      handle: async ({ params: { id = '' } }, { owner }) => createFileReply(await files.find(owner, id), files),
    },
    {
      ...shared,
      operation: 'compatible-files.delete',
      method: 'DELETE',
      path: ONE,
      onDisconnect: 'finish',
      async handle({ params: { id = '' } }, { owner }) {
        await files.delete(owner, id);
        return createJsonReply(encodeFileDeleted(id));
      },
    },
  ];
}

/** Checks the form field `purpose`, with the prescribed error text (docs/wire/openai-compatible.md#files). */
function checkField(name: string, value: string): void {
  if (name !== 'purpose' || FILE_PURPOSES.some((known) => known === value)) return;
  const known = FILE_PURPOSES.map((each) => `'${each}'`).join(' or ');
  throw new ServiceError('invalid-request', `'purpose' must be ${known}`, { param: 'purpose' });
}

/** This error has neither code nor request id (docs/wire/openai-compatible.md#files). */
function createBadPurposeReply({ message, kind, param }: ServiceError, log: RequestLog): Reply {
  log.add({ kind, param });
  const error = { message, type: 'invalid_request_error', param: 'purpose', code: null };
  return { type: 'json', status: 400, body: { error } };
}

const LIST_TEXTS = {
  limit: `Range of limit should be [1, ${FILE_LIST_MAX}]`,
  ...CREATED_RANGE_TEXTS,
};

const createListQuery = (time: ZonedTime) =>
  z.object({
    after: z.string().optional(),
    limit: createCountField(FILE_LIST_MAX).default(FILE_LIST_MAX),
    purpose: z.string().optional(),
    ...createCreatedRangeFields(time),
  });
