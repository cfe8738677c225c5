import { z } from 'zod';
import type { RequestLog } from '../../../core/context.ts';
import { INTERNAL_MESSAGE, ServiceError } from '../../../core/error.ts';
import { FILE_LIST_MAX, UPLOAD_EXTRA_BYTES_MAX } from '../../../core/limits.ts';
import { FILE_PURPOSES } from '../../../resources/files/file.ts';
import type { Files } from '../../../resources/files/file.ts';
import type { Texts } from '../../../resources/texts/service.ts';
import type { FileRecord } from '../../../store/files.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint, Reply } from '../../endpoint.ts';
import { fileReply } from '../../fields/file-reply.ts';
import { CREATED_TEXTS, countField, createdFields } from '../../fields/list-query.ts';
import { takeFiles } from '../../fields/take-files.ts';
import type { ZonedTime } from '../../fields/zoned-time.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { missing, parseBody } from '../../parse.ts';
import { encodeFile, encodeFileDeleted, encodeFileList } from './encode.ts';

export interface CompatibleFilesNeeds {
  readonly files: Files;
  readonly texts: Pick<Texts, 'statesOf'>;
  readonly time: ZonedTime;
  /** Bytes of one file. */
  readonly fileBytesMax: number;
  readonly strict?: boolean;
}

const shared = { family: 'compatible', regions: INTERFACES.compatibleFiles.regions } as const;
const ALL = '/compatible-mode/v1/files';
const ONE = `${ALL}/:id`;

/** Specification, E9, and wire.md E9.2: the same files as on the native interface. */
export function compatibleFiles({
  files,
  texts,
  time,
  fileBytesMax,
  strict = false,
}: CompatibleFilesNeeds): readonly Endpoint[] {
  const ListQuery = listQuery(time);
  const encoded = async (file: FileRecord): Promise<object> =>
    encodeFile(file, (await texts.statesOf([file])).get(file.id));
  return [
    {
      ...shared,
      operation: 'compatible-files.create',
      method: 'POST',
      path: ALL,
      onDisconnect: 'finish',
      uploadBytesMax: fileBytesMax + UPLOAD_EXTRA_BYTES_MAX,
      async handle({ upload }, context) {
        const wish = { files, upload, context, names: ['file'], checkField, isFileFailure: () => false };
        try {
          return await takeFiles(wish, async ({ files: [file, second], fields, unknown }) => {
            if (!file?.received) throw new ServiceError('invalid-request', missing('file'), { param: 'file' });
            if (second) throw new ServiceError('invalid-request', 'file must be one file.', { param: 'file' });
            const purpose = fields.get('purpose')?.at(-1) ?? '';
            checkField('purpose', purpose);
            const draft = { name: file.fileName, description: '', purpose };
            const [kept] = await files.keep(context.owner, [{ received: file.received, draft }]);
            if (!kept) throw new ServiceError('internal', INTERNAL_MESSAGE);
            const names = [...unknown, ...[...fields.keys()].filter((name) => name !== 'purpose')];
            return json(await encoded(kept), ignoredHeader(names));
          });
        } catch (thrown) {
          if (thrown instanceof ServiceError && thrown.param === 'purpose') return badPurpose(thrown, context.log);
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
        const fields = Object.fromEntries([...query].filter(([, value]) => value !== ''));
        const { wire, unknown } = parseBody(ListQuery, fields, { texts: TEXTS, strict });
        const found = await files.list(owner, {
          purpose: wire.purpose,
          after: wire.after,
          createdFrom: wire.create_after,
          // Seconds are what is shown: the whole of the last one is meant.
          createdTo: wire.create_before === undefined ? undefined : wire.create_before + 999,
          limit: wire.limit + 1,
        });
        const hasMore = found.length > wire.limit;
        const page = found.slice(0, wire.limit);
        const list = encodeFileList(page, { hasMore, texts: await texts.statesOf(page) });
        return json(list, ignoredHeader(unknown));
      },
    },
    {
      ...shared,
      operation: 'compatible-files.get',
      method: 'GET',
      path: ONE,
      onDisconnect: 'cancel',
      handle: async ({ params: { id = '' } }, { owner }) => json(await encoded(await files.find(owner, id))),
    },
    {
      ...shared,
      operation: 'compatible-files.content',
      method: 'GET',
      path: `${ONE}/content`,
      onDisconnect: 'cancel',
      handle: async ({ params: { id = '' } }, { owner }) => fileReply(await files.find(owner, id), files),
    },
    {
      ...shared,
      operation: 'compatible-files.delete',
      method: 'DELETE',
      path: ONE,
      onDisconnect: 'finish',
      async handle({ params: { id = '' } }, { owner }) {
        await files.delete(owner, id);
        return json(encodeFileDeleted(id));
      },
    },
  ];
}

/** wire.md E9.2. */
function checkField(name: string, value: string): void {
  if (name !== 'purpose' || FILE_PURPOSES.some((known) => known === value)) return;
  const known = FILE_PURPOSES.map((each) => `'${each}'`).join(' or ');
  throw new ServiceError('invalid-request', `'purpose' must be ${known}`, { param: 'purpose' });
}

/** wire.md E9.2: this refusal has no code and no request id. */
function badPurpose({ message, kind, param }: ServiceError, log: RequestLog): Reply {
  log.add({ kind, param });
  const error = { message, type: 'invalid_request_error', param: 'purpose', code: null };
  return { type: 'json', status: 400, body: { error } };
}

const TEXTS = {
  limit: `Range of limit should be [1, ${FILE_LIST_MAX}]`,
  ...CREATED_TEXTS,
};

const listQuery = (time: ZonedTime) =>
  z.object({
    after: z.string().optional(),
    limit: countField(FILE_LIST_MAX).default(FILE_LIST_MAX),
    purpose: z.string().optional(),
    ...createdFields(time),
  });
