import type { Owner } from './context.ts';
import { REQUEST_DOCUMENTS_MAX } from './limits.ts';
import type { ContentPart } from './message.ts';

/** Result of looking up a caller's file whose text goes into a prompt. */
export type DocumentLookup =
  | {
      readonly type: 'ready';
      readonly name: string;
      /** Lengths of the text: UTF-16 code units, and bytes of UTF-8. */
      readonly chars: number;
      readonly bytes: number;
      /** @throws ServiceError `file-not-found` when the file was deleted meanwhile. */
      read(): Promise<string>;
    }
  /** The text is still being extracted. */
  | { readonly type: 'waiting' }
  /** The file has no usable text. `message` is a sentence for the caller. */
  | { readonly type: 'refused'; readonly message: string };

/** Looks up a file of the owner's workspace. Files of other workspaces do not exist for the owner. */
export type FindDocument = (owner: Owner, id: string) => Promise<DocumentLookup>;

const REFERENCE_PREFIX = 'fileid://';

/** File ids as Parley creates them. The length is limited because the text comes from callers. */
const FILE_ID = /^[\w-]{1,128}$/;

/**
 * Parses a comma-separated list of `fileid://ID` references. Of a list with more references than a request may have, only
 * one more than that is read.
 * @returns undefined for any other text.
 */
export function parseFileReferences(text: string): readonly string[] | undefined {
  const list = text.trim();
  if (!list.startsWith(REFERENCE_PREFIX)) return undefined;
  const ids = list.split(',', REQUEST_DOCUMENTS_MAX + 1).map((each) => {
    const reference = each.trim();
    return reference.startsWith(REFERENCE_PREFIX) ? reference.slice(REFERENCE_PREFIX.length) : '';
  });
  return ids.every((id) => FILE_ID.test(id)) ? ids : undefined;
}

interface DocumentPartOptions {
  /** Whether the request continues with a note in the prompt if a file cannot be read; otherwise the request fails. */
  readonly isOptional: boolean;
  /** Mark of the context cache that ends after the documents; the last part carries it. */
  readonly cache?: 'ephemeral' | undefined;
}

/** Creates message parts that stand for the files with these ids. */
export const createDocumentParts = (
  ids: readonly string[],
  { isOptional, cache }: DocumentPartOptions,
): readonly ContentPart[] =>
  ids.map((id, index) => ({
    type: 'document',
    source: { type: 'file', id, isOptional },
    ...(cache && index === ids.length - 1 ? { cache } : {}),
  }));
