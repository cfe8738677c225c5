import { z } from 'zod';
import { FILE_PURPOSES, type Files } from '../../../resources/files/file.ts';
import { UPLOAD_PART_BYTES_MAX } from '../../../resources/files/limits.ts';
import type { Texts } from '../../../resources/texts/service.ts';
import { createJsonReply, type Endpoint } from '../../endpoint.ts';
import { getOnlyFile, receiveUpload } from '../../fields/receive-upload.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { UPLOAD_EXTRA_BYTES_MAX } from '../../limits.ts';
import { parseBody } from '../../parse.ts';
import { encodeFile } from '../files/encode.ts';
import { encodeUpload, encodeUploadPart } from './encode.ts';

export interface UploadEndpointDeps {
  readonly files: Files;
  readonly texts: Pick<Texts, 'findStates'>;
  readonly strict?: boolean;
}

const CreateBody = z.object({
  purpose: z.enum(FILE_PURPOSES),
  filename: z.string().min(1),
  bytes: z.int().min(1),
  // The content of a file shows its type, so the client's word has no effect.
  mime_type: z.string().nullish(),
});

const CompleteBody = z.object({
  part_ids: z.array(z.string().min(1)).min(1),
  md5: z
    .string()
    .regex(/^[0-9a-f]{32}$/i)
    .nullish(),
});

const TEXTS = {
  purpose: `'purpose' must be ${FILE_PURPOSES.map((each) => `'${each}'`).join(' or ')}`,
  bytes: 'bytes must be the size of the whole file: an integer from 1',
  part_ids: 'part_ids must be a list with the ids of the parts, in the order of the file',
  md5: 'md5 must have 32 hex digits',
};

const ALL = '/compatible-mode/v1/uploads';
const SHARED = {
  family: 'compatible',
  regions: INTERFACES.compatibleUploads.regions,
  method: 'POST',
  onDisconnect: 'finish',
} as const satisfies Partial<Endpoint>;

/** Creates the endpoints of uploads in parts (docs/wire/openai-compatible.md#uploads). */
export function createUploadEndpoints({ files, texts, strict = false }: UploadEndpointDeps): readonly Endpoint[] {
  const { chunked } = files;
  return [
    {
      ...SHARED,
      operation: 'uploads.create',
      path: ALL,
      async handle({ body }, { owner }) {
        const { wire, unknown } = parseBody(CreateBody, body, { texts: TEXTS, strict });
        const { filename: name, purpose, bytes: sizeBytes } = wire;
        const upload = await chunked.create(owner, { name, purpose, sizeBytes });
        return createJsonReply(encodeUpload(upload), encodeIgnoredHeader(unknown));
      },
    },
    {
      ...SHARED,
      operation: 'uploads.add-part',
      path: `${ALL}/:id/parts`,
      onDisconnect: 'cancel',
      uploadBytesMax: UPLOAD_PART_BYTES_MAX + UPLOAD_EXTRA_BYTES_MAX,
      async handle({ upload, params: { id = '' } }, context) {
        await chunked.checkPending(context.owner, id);
        const options = {
          files,
          upload,
          context,
          fileFieldNames: ['data'],
          fileBytesMax: UPLOAD_PART_BYTES_MAX,
          isFileFailure: () => false,
        };
        return await receiveUpload(options, async (received) => {
          const part = await chunked.addPart(context.owner, id, getOnlyFile(received, 'data').received);
          const names = [...received.unknown, ...received.fields.keys()];
          return createJsonReply(encodeUploadPart(part), encodeIgnoredHeader(names));
        });
      },
    },
    {
      ...SHARED,
      operation: 'uploads.complete',
      path: `${ALL}/:id/complete`,
      async handle({ body, params: { id = '' } }, { owner, signal }) {
        const { wire, unknown } = parseBody(CompleteBody, body, { texts: TEXTS, strict });
        const completion = { partIds: wire.part_ids, md5: wire.md5 ?? undefined };
        const { upload, file } = await chunked.complete(owner, id, completion, signal);
        const text = (await texts.findStates([file])).get(file.id);
        return createJsonReply(encodeUpload(upload, encodeFile(file, text)), encodeIgnoredHeader(unknown));
      },
    },
    {
      ...SHARED,
      operation: 'uploads.cancel',
      path: `${ALL}/:id/cancel`,
      handle: async ({ params: { id = '' } }, { owner }) =>
        createJsonReply(encodeUpload(await chunked.cancel(owner, id))),
    },
  ];
}
