import { ServiceError } from '../../../core/error.ts';
import type { Part } from '../../../core/message.ts';
import { isPresent } from '../../../lib/present.ts';
import { refuse } from '../../parse.ts';
import type { WireFile } from './item-schema.ts';

/** What a document without a name is called. */
const NAMELESS = 'file';

const DATA_URL = /^data:[^,]{0,200};base64,/i;

/** @throws ServiceError `invalid-request` naming the field; `unsupported` for an address. */
export function checkFile({ file_id: id, file_data: data, file_url: url }: WireFile, at: string): void {
  if (isPresent(url)) {
    const param = `${at}.file_url`;
    const message = `file_url is not supported: send the file and name its id, or put it into file_data (${param})`;
    throw new ServiceError('unsupported', message, { param });
  }
  if (isPresent(id) === isPresent(data))
    throw refuse(`${at}.file_id`, 'input_file must have either file_id or file_data');
  if (isPresent(data) && !/^[\w+/=\s-]*$/.test(base64Of(data)))
    throw refuse(`${at}.file_data`, 'file_data must be base64, or a data URL in base64');
}

/** What a model is told of it is read later. One that was deleted since it was named is missing, and the rest is not. */
export function decodeFile({ file_id: id, file_data: data, filename }: WireFile): Part {
  if (isPresent(id)) return { type: 'document', source: { type: 'file', id, isOptional: true } };
  const name = filename?.toWellFormed() ?? NAMELESS;
  return { type: 'document', source: { type: 'data', name, base64: base64Of(data ?? '') } };
}

const base64Of = (data: string): string => data.replace(DATA_URL, '');
