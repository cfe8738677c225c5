import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { RequestContext } from '../core/context.ts';
import { createDocumentParts, parseFileReferences, type FindDocument } from '../core/document.ts';
import { ServiceError } from '../core/error.ts';
import { REQUEST_DOCUMENTS_MAX } from '../core/limits.ts';
import { DOCUMENT_CACHE_BYTES_MAX, DOCUMENT_CACHE_ENTRIES_MAX, REQUEST_DOCUMENT_BYTES_MAX } from './limits.ts';
import type { DocumentSource, Message, ContentPart } from '../core/message.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { DocumentExtractor } from '../documents/document-extractor.ts';
import { omitNullish } from '../lib/omit-nullish.ts';
import { formatDocumentBlock, formatMissingDocumentNote } from './document-block.ts';
import type { ModelTarget } from './model-target.ts';

/** A function that handles a request, e.g. a generation or a token count. */
type RequestHandler<Result> = (request: GenerationRequest, on: ModelTarget, context: RequestContext) => Promise<Result>;

/**
 * Wraps a handler: documents that a request names become text in its messages. Documents are parts of a message, or a
 * system message that is only a list of references; text of a user is never read as a reference. The prompt contains a
 * document completely, or the request is rejected. A file of an earlier turn that is gone is reported as ignored.
 *
 * @throws ServiceError `invalid-request` when a document cannot be read, or not yet; `context-exceeded` with the
 *   lengths when the documents are too long.
 */
export type WithDocuments = <Result extends { readonly ignored: readonly string[] }>(
  inner: RequestHandler<Result>,
) => RequestHandler<Result>;

export interface WithDocumentsDeps {
  readonly findDocument: FindDocument;
  readonly extract: DocumentExtractor;
}

interface ReadableDocument {
  readonly name: string;
  readonly chars: number;
  readonly bytes: number;
  read(): Promise<string>;
}

export function createWithDocuments({ findDocument, extract }: WithDocumentsDeps): WithDocuments {
  const findSource = createFindSource(findDocument, createReadData(extract));
  return (inner) => async (request, on, context) => {
    const messages = request.messages.map(expandReferences);
    const sources = messages.flatMap(({ content }) =>
      content.flatMap((part) => (part.type === 'document' ? part.source : [])),
    );
    if (sources.length === 0) return await inner(request, on, context);
    if (sources.length > REQUEST_DOCUMENTS_MAX) throw createTooManyError(sources.length);

    const results = new Map<string, ReadableDocument | string>();
    for (const source of sources) {
      const key = createSourceKey(source);
      if (!results.has(key)) results.set(key, await findSource(source, context));
    }
    const readyDocuments = sources.flatMap((source) => getReadableDocument(results.get(createSourceKey(source))) ?? []);
    const bytes = readyDocuments.reduce((sum, each) => sum + each.bytes, 0);
    if (bytes > REQUEST_DOCUMENT_BYTES_MAX) throw createTooLargeError(bytes, readyDocuments);

    const blocks = new Map<string, string>();
    for (const [key, each] of results) {
      blocks.set(
        key,
        typeof each === 'string' ? formatMissingDocumentNote(each) : formatDocumentBlock(each.name, await each.read()),
      );
    }
    const resolvedMessages = messages.map((message) =>
      replaceDocuments(message, (source) => blocks.get(createSourceKey(source)) ?? ''),
    );
    const missing = sources.flatMap((source) =>
      source.type === 'file' && typeof results.get(createSourceKey(source)) === 'string' ? [`file(${source.id})`] : [],
    );
    try {
      const result = await inner({ ...request, messages: resolvedMessages }, on, context);
      return missing.length === 0 ? result : { ...result, ignored: [...result.ignored, ...missing] };
    } catch (error) {
      throw addDocumentLengths(error, readyDocuments);
    }
  };
}

const getReadableDocument = (each: ReadableDocument | string | undefined): ReadableDocument | undefined =>
  typeof each === 'object' ? each : undefined;

/** Returns a document, or a note for one that may be missing. */
type FindSource = (source: DocumentSource, context: RequestContext) => Promise<ReadableDocument | string>;

const createFindSource =
  (
    findDocument: FindDocument,
    readData: (source: DataSource, context: RequestContext) => Promise<ReadableDocument | string>,
  ): FindSource =>
  async (source, context) => {
    if (source.type === 'data') return await readData(source, context);
    const found = await findDocument(context.owner, source.id);
    switch (found.type) {
      case 'ready':
        return found;
      case 'waiting':
        // The API's own text: docs/wire/openai-compatible.md#files.
        throw new ServiceError('invalid-request', 'File parsing in progress, please try again later.');
      case 'refused':
        if (source.isOptional) return found.message;
        throw new ServiceError('invalid-request', found.message);
    }
  };

type DataSource = DocumentSource & { readonly type: 'data' };

/**
 * Creates the reader of documents sent within a request. Follow-up requests often repeat them, so their texts are
 * cached.
 */
function createReadData(
  extract: DocumentExtractor,
): (source: DataSource, context: RequestContext) => Promise<ReadableDocument | string> {
  const cachedTexts = new LRUCache<string, string>({
    max: DOCUMENT_CACHE_ENTRIES_MAX,
    maxSize: DOCUMENT_CACHE_BYTES_MAX,
  });
  return async ({ name, base64 }, { owner: { region, workspace }, signal }) => {
    // The file name decides the kind of a text, so it is part of the key. The time that a request takes must not tell
    // which documents other tenants have.
    const key = createHash('sha256')
      .update(`${JSON.stringify([region, workspace, name])}\n`)
      .update(base64)
      .digest('base64');
    let text = cachedTexts.get(key);
    if (text === undefined) {
      const bytes = Buffer.from(base64, 'base64');
      const tenant = { region, workspace };
      const extracted = await extract(toByteStream(bytes), { tenant, name, sizeBytes: bytes.length, signal });
      if (extracted.type === 'failed') throw new ServiceError('invalid-request', `${name}: ${extracted.reason}`);
      text = Buffer.from(extracted.text).toString('utf8');
      cachedTexts.set(key, text, { size: Math.max(1, extracted.text.length) });
    }
    const fullText = text;
    return { name, chars: fullText.length, bytes: Buffer.byteLength(fullText), read: () => Promise.resolve(fullText) };
  };
}

async function* toByteStream(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const createSourceKey = (source: DocumentSource): string =>
  source.type === 'file' ? `file ${source.id} ${source.isOptional}` : `data ${source.name}\n${source.base64}`;

/** Replaces a system text that is a list of references by the documents that it names. */
function expandReferences(message: Message): Message {
  if (message.role !== 'system' && message.role !== 'developer') return message;
  if (!message.content.some((part) => part.type === 'text' && parseFileReferences(part.text))) return message;
  const content = message.content.flatMap((part): readonly ContentPart[] => {
    const ids = part.type === 'text' ? parseFileReferences(part.text) : undefined;
    return ids && part.type === 'text' ? createDocumentParts(ids, { isOptional: false, cache: part.cache }) : [part];
  });
  return { ...message, content };
}

/** Replaces documents by their text, with blank lines around them. */
function replaceDocuments(message: Message, getBlock: (source: DocumentSource) => string): Message {
  if (!message.content.some(({ type }) => type === 'document')) return message;
  const content: ContentPart[] = [];
  let wasDocument = false;
  for (const part of message.content) {
    const isDocument = part.type === 'document';
    if (content.length > 0 && (isDocument || wasDocument)) content.push({ type: 'text', text: '\n\n' });
    content.push(
      isDocument ? { type: 'text', text: getBlock(part.source), ...omitNullish({ cache: part.cache }) } : part,
    );
    wasDocument = isDocument;
  }
  return { ...message, content };
}

const createTooManyError = (count: number): ServiceError =>
  new ServiceError(
    'invalid-request',
    `A request may name at most ${REQUEST_DOCUMENTS_MAX} files, got at least ${count}.`,
  );

const createTooLargeError = (bytes: number, readyDocuments: readonly ReadableDocument[]): ServiceError =>
  new ServiceError(
    'context-exceeded',
    `The documents of a request may have at most ${REQUEST_DOCUMENT_BYTES_MAX} bytes of text together, got ${bytes}: ${formatLengths(readyDocuments)}.`,
  );

/** Adds the documents' lengths to a `context-exceeded` error, which only knows the length of the whole prompt. */
function addDocumentLengths(thrown: unknown, readyDocuments: readonly ReadableDocument[]): unknown {
  if (!(thrown instanceof ServiceError) || thrown.kind !== 'context-exceeded' || readyDocuments.length === 0)
    return thrown;
  const { message, param, tokenOverflow } = thrown;
  const chars = readyDocuments.reduce((sum, each) => sum + each.chars, 0);
  const messageWithLengths = `${message} (its documents have ${chars} characters of text: ${formatLengths(readyDocuments)})`;
  return new ServiceError('context-exceeded', messageWithLengths, {
    param,
    tokenOverflow,
    cause: thrown,
  });
}

const NAMED_DOCUMENTS_MAX = 5;

function formatLengths(readyDocuments: readonly ReadableDocument[]): string {
  const shown = readyDocuments.slice(0, NAMED_DOCUMENTS_MAX).map(({ name, chars }) => `${name} ${chars}`);
  return [
    ...shown,
    ...(readyDocuments.length > NAMED_DOCUMENTS_MAX ? [`${readyDocuments.length - NAMED_DOCUMENTS_MAX} more`] : []),
  ].join(', ');
}
