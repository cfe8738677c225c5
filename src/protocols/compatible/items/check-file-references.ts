import type { Owner } from '../../../core/context.ts';
import { parseFileReferences, type FindDocument } from '../../../core/document.ts';
import { ServiceError } from '../../../core/error.ts';
import { REQUEST_DOCUMENTS_MAX } from '../../../core/limits.ts';
import { isDefined } from '../../../lib/omit-nullish.ts';
import { createFieldError } from '../../parse.ts';
import { isSystemItem } from './decode-items.ts';
import type { WireContent, WireItem } from './item-schema.ts';

interface FileReference {
  readonly id: string;
  readonly param: string;
}

/**
 * Checks that every file named in the new input exists and is parsed. A file named in an earlier turn may be missing:
 * the model gets a note.
 *
 * @param isForLater The items are only stored, so a file may still be parsed.
 * @throws ServiceError `invalid-request` naming the first file that cannot be used, or is still being parsed.
 */
export async function checkFileReferences(
  content: { readonly instructions: string; readonly items: readonly WireItem[]; readonly field: string },
  {
    owner,
    findDocument,
    isForLater = false,
  }: { readonly owner: Owner; readonly findDocument: FindDocument; readonly isForLater?: boolean },
): Promise<void> {
  const references = [
    ...(parseFileReferences(content.instructions) ?? []).map((id) => ({ id, param: 'instructions' })),
    ...content.items.flatMap((item, index) => listItemFiles(item, `${content.field}[${index}]`)),
  ];
  const [first] = references;
  if (first && references.length > REQUEST_DOCUMENTS_MAX)
    throw createFieldError(
      first.param,
      `A request may name at most ${REQUEST_DOCUMENTS_MAX} files, got at least ${references.length}`,
    );
  for (const { id, param } of references) {
    const found = await findDocument(owner, id);
    if (found.type === 'refused') throw new ServiceError('invalid-request', found.message, { param });
    if (found.type === 'waiting' && !isForLater) {
      // Prescribed text (docs/wire/openai-compatible.md#files).
      throw new ServiceError('invalid-request', 'File parsing in progress, please try again later.', { param });
    }
  }
}

function listItemFiles(item: WireItem, field: string): readonly FileReference[] {
  switch (item.type) {
    case 'message':
      return listContentFiles(item.content, `${field}.content`, isSystemItem(item));
    case 'function_call_output':
      return listContentFiles(item.output, `${field}.output`, false);
    case 'function_call':
    case 'reasoning':
    case 'item_reference':
    case 'server_call':
    case 'compaction':
    case 'other':
      return [];
  }
}

function listContentFiles(content: WireContent, field: string, isSystem: boolean): readonly FileReference[] {
  const listTextReferences = (text: string, param: string): readonly FileReference[] =>
    isSystem ? (parseFileReferences(text) ?? []).map((id) => ({ id, param })) : [];
  if (typeof content === 'string') return listTextReferences(content, field);
  return content.flatMap((part, index): readonly FileReference[] => {
    const path = `${field}[${index}]`;
    if (part.type === 'input_file')
      return isDefined(part.file_id) ? [{ id: part.file_id, param: `${path}.file_id` }] : [];
    return 'text' in part ? listTextReferences(part.text, `${path}.text`) : [];
  });
}
