import { ServiceError } from '../../../core/error.ts';
import type { ContentPart } from '../../../core/message.ts';
import { isDefined } from '../../../lib/omit-nullish.ts';
import { createFieldError } from '../../parse.ts';
import type { WireFile } from './item-schema.ts';

/** Name of a document that the client sent without a name. */
const DEFAULT_FILE_NAME = 'file';

const DATA_URL = /^data:[^,]{0,200};base64,/i;

/** Checks a file part. @throws ServiceError `invalid-request` naming the field; `unsupported` for a URL. */
export function checkFile({ file_id: id, file_data: data, file_url: url }: WireFile, at: string): void {
  if (isDefined(url)) {
    const param = `${at}.file_url`;
    const message = `file_url is not supported: send the file and name its id, or put it into file_data (${param})`;
    throw new ServiceError('unsupported', message, { param });
  }
  if (isDefined(id) === isDefined(data))
    throw createFieldError(`${at}.file_id`, 'input_file must have either file_id or file_data');
  if (isDefined(data) && !/^[\w+/=\s-]*$/.test(stripDataUrlPrefix(data)))
    throw createFieldError(`${at}.file_data`, 'file_data must be base64, or a data URL in base64');
}

/** Decodes a file part; its text is loaded later. A file that was deleted since does not cause an error. */
export function decodeFile({ file_id: id, file_data: data, filename }: WireFile): ContentPart {
  if (isDefined(id)) return { type: 'document', source: { type: 'file', id, isOptional: true } };
  const name = filename?.toWellFormed() ?? DEFAULT_FILE_NAME;
  return { type: 'document', source: { type: 'data', name, base64: stripDataUrlPrefix(data ?? '') } };
}

const stripDataUrlPrefix = (data: string): string => data.replace(DATA_URL, '');
