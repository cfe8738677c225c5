import { z } from 'zod';
import { ServiceError } from '../../../core/error.ts';
import type { ErrorKind } from '../../../core/error.ts';
import { FILE_PAGE_MAX, UPLOAD_EXTRA_BYTES_MAX } from '../../../core/limits.ts';
import { FILE_PURPOSES } from '../../../resources/files/file.ts';
import type { Files } from '../../../resources/files/file.ts';
import { cleanName } from '../../../resources/files/rules.ts';
import { DOWNLOADS_PATH } from '../../../resources/files/links.ts';
import type { Links } from '../../../resources/files/links.ts';
import type { Texts } from '../../../resources/texts/service.ts';
import type { FileRecord } from '../../../store/files.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { fileReply } from '../../fields/file-reply.ts';
import { takeFiles } from '../../fields/take-files.ts';
import type { ZonedTime } from '../../fields/zoned-time.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { missing, parseBody, refuse } from '../../parse.ts';
import { fieldsOf, pageFields, pageOf, pageTextsOf, skippedBy } from '../page.ts';
import { encodeFile, encodeFilePage, encodeUpload } from './encode.ts';
import type { FileWords } from './encode.ts';

export interface NativeFilesNeeds {
  readonly files: Files;
  readonly links: Links;
  readonly texts: Pick<Texts, 'statesOf'>;
  readonly time: ZonedTime;
  /** Bytes of all files of one upload. */
  readonly uploadBytesMax: number;
}

const shared = { family: 'native', regions: INTERFACES.files.regions } as const;
const ALL = '/api/v1/files';
const ONE = `${ALL}/:id`;

/** wire.md section 11, 18 and 19: SDKs send no purpose, and either name. */
const FILE_PARTS = ['files', 'file', 'files[]'];
const PURPOSE_DEFAULT = 'fine-tune';
const FIELDS = ['purpose', 'descriptions', 'description'];

/** Of these, the file that is refused fails and no other. */
const FILE_FAILURES: readonly ErrorKind[] = ['too-large', 'storage-quota', 'count-quota', 'overloaded'];

const ListQuery = z.object({ ...pageFields(FILE_PAGE_MAX), purpose: z.string().optional() });

/** Specification, E9, and wire.md E9.1. */
export function nativeFiles({ files, links, texts, time, uploadBytesMax }: NativeFilesNeeds): readonly Endpoint[] {
  const wordsFor = async (shown: readonly FileRecord[]): Promise<FileWords> => {
    const states = await texts.statesOf(shown);
    return { linkTo: links.linkTo, show: time.show, textOf: ({ id }) => states.get(id) };
  };
  return [
    {
      ...shared,
      operation: 'files.upload',
      method: 'POST',
      path: ALL,
      onDisconnect: 'finish',
      uploadBytesMax: uploadBytesMax + UPLOAD_EXTRA_BYTES_MAX,
      handle: ({ upload }, context) =>
        takeFiles(
          {
            files,
            upload,
            context,
            names: FILE_PARTS,
            checkField(name, value) {
              if (name === 'purpose' && value !== '') checkPurpose(value);
            },
            isFileFailure: ({ kind }) => FILE_FAILURES.includes(kind),
          },
          async ({ files: taken, fields, unknown }) => {
            if (taken.length === 0) throw new ServiceError('invalid-request', missing('files'), { param: 'files' });
            const purpose = fields.get('purpose')?.findLast((value) => value !== '') ?? PURPOSE_DEFAULT;
            const descriptions = fields.get('descriptions') ?? fields.get('description') ?? [];
            const wanted = taken.flatMap(({ fileName, received }, at) => {
              const draft = { name: fileName, description: descriptions[at] ?? '', purpose };
              return received ? { received, draft } : [];
            });
            const failed = taken.flatMap((file) =>
              file.received ? [] : { name: cleanName(file.fileName), error: file.refused },
            );
            const kept = await files.keep(context.owner, wanted);
            const names = [...unknown, ...[...fields.keys()].filter((name) => !FIELDS.includes(name))];
            return json(encodeUpload({ kept, failed }, context.requestId), ignoredHeader(names));
          },
        ),
    },
    {
      ...shared,
      operation: 'files.list',
      method: 'GET',
      path: ALL,
      onDisconnect: 'cancel',
      async handle({ query }, { owner, requestId }) {
        const { wire, unknown } = parseBody(ListQuery, fieldsOf(query), { texts: pageTextsOf(FILE_PAGE_MAX) });
        const page = pageOf(wire);
        const { purpose } = wire;
        const [total, found] = await Promise.all([
          files.count(owner, purpose),
          files.list(owner, { purpose, limit: page.size, skip: skippedBy(page) }),
        ]);
        const words = await wordsFor(found);
        return json(encodeFilePage({ total, files: found }, page, words, requestId), ignoredHeader(unknown));
      },
    },
    {
      ...shared,
      operation: 'files.get',
      method: 'GET',
      path: ONE,
      onDisconnect: 'cancel',
      async handle({ params: { id = '' } }, { owner, requestId }) {
        const file = await files.find(owner, id);
        return json(encodeFile(file, await wordsFor([file]), requestId));
      },
    },
    {
      ...shared,
      operation: 'files.delete',
      method: 'DELETE',
      path: ONE,
      onDisconnect: 'finish',
      async handle({ params: { id = '' } }, { owner, requestId }) {
        await files.delete(owner, id);
        return json({ request_id: requestId });
      },
    },
    {
      ...shared,
      operation: 'files.download',
      method: 'GET',
      path: `${DOWNLOADS_PATH}/:id`,
      onDisconnect: 'cancel',
      async ownerOf({ params: { id = '' }, query }) {
        links.check(id, query);
        const { workspace, region, keyId } = await files.findAnywhere(id);
        return { workspace, region, keyId };
      },
      handle: async ({ params: { id = '' } }, { owner }) => fileReply(await files.find(owner, id), files),
    },
  ];
}

function checkPurpose(purpose: string): void {
  if (FILE_PURPOSES.some((known) => known === purpose)) return;
  throw refuse('purpose', `purpose must be one of ${FILE_PURPOSES.join(', ')}`, purpose);
}
