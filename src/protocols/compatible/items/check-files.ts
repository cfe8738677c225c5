import type { Owner } from '../../../core/context.ts';
import { fileIdsIn, type FindDocument } from '../../../core/document.ts';
import { ServiceError } from '../../../core/error.ts';
import { REQUEST_DOCUMENTS_MAX } from '../../../core/limits.ts';
import { isPresent } from '../../../lib/present.ts';
import { refuse } from '../../parse.ts';
import { isSystemItem } from './decode-items.ts';
import type { WireContent, WireItem } from './item-schema.ts';

interface Named {
  readonly id: string;
  readonly param: string;
}

/**
 * Files that are named now are there now. What an earlier turn named may be gone by now: that is told to the model.
 *
 * @throws ServiceError `invalid-request` naming the first one that cannot be used, or not yet.
 */
export async function checkFiles(
  said: { readonly instructions: string; readonly items: readonly WireItem[]; readonly at: string },
  { owner, findDocument }: { readonly owner: Owner; readonly findDocument: FindDocument },
): Promise<void> {
  const named = [
    ...(fileIdsIn(said.instructions) ?? []).map((id) => ({ id, param: 'instructions' })),
    ...said.items.flatMap((item, index) => filesIn(item, `${said.at}[${index}]`)),
  ];
  const [first] = named;
  if (first && named.length > REQUEST_DOCUMENTS_MAX)
    throw refuse(first.param, `A request may name at most ${REQUEST_DOCUMENTS_MAX} files, got ${named.length}`);
  for (const { id, param } of named) {
    const found = await findDocument(owner, id);
    if (found.type === 'refused') throw new ServiceError('invalid-request', found.message, { param });
    if (found.type === 'waiting') {
      // wire.md E9.2.
      throw new ServiceError('invalid-request', 'File parsing in progress, please try again later.', { param });
    }
  }
}

function filesIn(item: WireItem, at: string): readonly Named[] {
  switch (item.type) {
    case 'message':
      return filesOf(item.content, `${at}.content`, isSystemItem(item));
    case 'function_call_output':
      return filesOf(item.output, `${at}.output`, false);
    case 'function_call':
    case 'reasoning':
    case 'item_reference':
    case 'server_call':
    case 'other':
      return [];
  }
}

function filesOf(content: WireContent, at: string, isSystem: boolean): readonly Named[] {
  const references = (text: string, param: string): readonly Named[] =>
    isSystem ? (fileIdsIn(text) ?? []).map((id) => ({ id, param })) : [];
  if (typeof content === 'string') return references(content, at);
  return content.flatMap((part, index): readonly Named[] => {
    const place = `${at}[${index}]`;
    if (part.type === 'input_file')
      return isPresent(part.file_id) ? [{ id: part.file_id, param: `${place}.file_id` }] : [];
    return 'text' in part ? references(part.text, `${place}.text`) : [];
  });
}
