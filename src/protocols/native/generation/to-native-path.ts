import type { FieldPathMapper } from '../../fields/field-path-mapper.ts';

/** Maps a shared field name to its native path: messages are in `input`, all other fields in `parameters`. */
export const toNativePath: FieldPathMapper = (field) =>
  field.startsWith('messages') ? `input.${field}` : `parameters.${field}`;
