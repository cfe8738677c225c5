import type { Owner } from './context.ts';
import type { Part } from './message.ts';

/** A file of a caller's as a prompt needs it. */
export type FoundDocument =
  | {
      readonly type: 'ready';
      readonly name: string;
      /** UTF-16 units, and bytes of UTF-8. */
      readonly chars: number;
      readonly bytes: number;
      /** @throws ServiceError `file-not-found` where it was deleted since. */
      read(): Promise<string>;
    }
  /** Its text is being read. */
  | { readonly type: 'waiting' }
  /** A sentence for the caller. */
  | { readonly type: 'refused'; readonly message: string };

/** Files of other workspaces are not there. */
export type FindDocument = (owner: Owner, id: string) => Promise<FoundDocument>;

const REFERENCE = 'fileid://';

/** A comma and blanks between them; ids as they are made. Bounded repetition: the text comes from callers. */
const ID = /^[\w-]{1,128}$/;

/** The ids in a text that is nothing but a list of references to files; undefined for every other text. */
export function fileIdsIn(text: string): readonly string[] | undefined {
  const list = text.trim();
  if (!list.startsWith(REFERENCE)) return undefined;
  const ids = list.split(',').map((each) => {
    const reference = each.trim();
    return reference.startsWith(REFERENCE) ? reference.slice(REFERENCE.length) : '';
  });
  return ids.every((id) => ID.test(id)) ? ids : undefined;
}

interface Naming {
  readonly isOptional: boolean;
  /** Wanted for all of them together. */
  readonly cache?: 'ephemeral' | undefined;
}

/** Parts of a message that stand for files of these ids. */
export const documentParts = (ids: readonly string[], { isOptional, cache }: Naming): readonly Part[] =>
  ids.map((id, index) => ({
    type: 'document',
    source: { type: 'file', id, isOptional },
    ...(cache && index === ids.length - 1 ? { cache } : {}),
  }));
