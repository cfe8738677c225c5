import { createHash } from 'node:crypto';
import type { ModelInterface } from '../catalogue/model.ts';
import type { RequestContext } from '../core/context.ts';
import type { FindDocument } from '../core/document.ts';
import { documentParts, fileIdsIn } from '../core/document.ts';
import { ServiceError } from '../core/error.ts';
import {
  DOCUMENTS_KEPT_BYTES_MAX,
  DOCUMENTS_KEPT_MAX,
  REQUEST_DOCUMENT_BYTES_MAX,
  REQUEST_DOCUMENTS_MAX,
} from '../core/limits.ts';
import type { DocumentSource, Message, Part } from '../core/message.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { Extract } from '../documents/extract.ts';
import { createLru } from '../lib/lru.ts';
import { present } from '../lib/present.ts';
import { documentBlock, documentNote } from './document-block.ts';

/** What takes a request, e.g. a generation or a count of its tokens. */
type Takes<Result> = (
  request: GenerationRequest,
  on: { readonly interface: ModelInterface },
  context: RequestContext,
) => Promise<Result>;

/**
 * The same with the texts of documents where a request names them: in parts of their own, and in what the system says where
 * that is a list of references and nothing else. Users' words never are references. A text is whole in the prompt, or the
 * request is refused; it counts as any other.
 *
 * @throws ServiceError `invalid-request` where a document cannot be read, or not yet; `context-exceeded` with the numbers
 *   where they are too long.
 */
export type WithDocuments = <Result>(inner: Takes<Result>) => Takes<Result>;

export interface WithDocumentsNeeds {
  readonly findDocument: FindDocument;
  readonly extract: Extract;
}

interface Ready {
  readonly name: string;
  readonly chars: number;
  readonly bytes: number;
  read(): Promise<string>;
}

export function createWithDocuments({ findDocument, extract }: WithDocumentsNeeds): WithDocuments {
  const find = createFind(findDocument, createReadData(extract));
  return (inner) => async (request, on, context) => {
    const messages = request.messages.map(withReferencesRead);
    const sources = messages.flatMap(({ content }) =>
      content.flatMap((part) => (part.type === 'document' ? part.source : [])),
    );
    if (sources.length === 0) return await inner(request, on, context);
    if (sources.length > REQUEST_DOCUMENTS_MAX) throw tooMany(sources.length);

    const found = new Map<string, Ready | string>();
    for (const source of sources) {
      const key = keyOf(source);
      if (!found.has(key)) found.set(key, await find(source, context));
    }
    const named = sources.flatMap((source) => readyOf(found.get(keyOf(source))) ?? []);
    const bytes = named.reduce((sum, each) => sum + each.bytes, 0);
    if (bytes > REQUEST_DOCUMENT_BYTES_MAX) throw tooLarge(bytes, named);

    const blocks = new Map<string, string>();
    for (const [key, each] of found) {
      blocks.set(key, typeof each === 'string' ? documentNote(each) : documentBlock(each.name, await each.read()));
    }
    const told = messages.map((message) => withTexts(message, (source) => blocks.get(keyOf(source)) ?? ''));
    try {
      return await inner({ ...request, messages: told }, on, context);
    } catch (error) {
      throw withLengths(error, named);
    }
  };
}

const readyOf = (each: Ready | string | undefined): Ready | undefined => (typeof each === 'object' ? each : undefined);

/** One that is there, or a note where it may be missing. */
type Find = (source: DocumentSource, context: RequestContext) => Promise<Ready | string>;

const createFind =
  (
    findDocument: FindDocument,
    readData: (source: DataSource, context: RequestContext) => Promise<Ready | string>,
  ): Find =>
  async (source, context) => {
    if (source.type === 'data') return await readData(source, context);
    const found = await findDocument(context.owner, source.id);
    switch (found.type) {
      case 'ready':
        return found;
      case 'waiting':
        // wire.md E9.2.
        throw new ServiceError('invalid-request', 'File parsing in progress, please try again later.');
      case 'refused':
        if (source.isOptional) return found.message;
        throw new ServiceError('invalid-request', found.message);
    }
  };

type DataSource = DocumentSource & { readonly type: 'data' };

/** A document that came with its request may come again with each that goes on from it: its text is kept for a while. */
function createReadData(extract: Extract): (source: DataSource, context: RequestContext) => Promise<Ready | string> {
  const kept = createLru<string>({ entriesMax: DOCUMENTS_KEPT_MAX, weightMax: DOCUMENTS_KEPT_BYTES_MAX });
  return async ({ name, base64 }, { signal }) => {
    // The name says of a text what kind it is.
    const key = createHash('sha256').update(`${name}\n`).update(base64).digest('base64');
    let text = kept.get(key);
    if (text === undefined) {
      const bytes = Buffer.from(base64, 'base64');
      const found = await extract(once(bytes), { name, sizeBytes: bytes.length, signal });
      if (found.type === 'failed') throw new ServiceError('invalid-request', `${name}: ${found.reason}`);
      text = Buffer.from(found.text).toString('utf8');
      kept.set(key, text, found.text.length);
    }
    const whole = text;
    return { name, chars: whole.length, bytes: Buffer.byteLength(whole), read: () => Promise.resolve(whole) };
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const keyOf = (source: DocumentSource): string =>
  source.type === 'file' ? `file ${source.id} ${source.isOptional}` : `data ${source.name}\n${source.base64}`;

/** What the system says as a list of references becomes the documents it names. */
function withReferencesRead(message: Message): Message {
  if (message.role !== 'system' && message.role !== 'developer') return message;
  if (!message.content.some((part) => part.type === 'text' && fileIdsIn(part.text))) return message;
  const content = message.content.flatMap((part): readonly Part[] => {
    const ids = part.type === 'text' ? fileIdsIn(part.text) : undefined;
    return ids && part.type === 'text' ? documentParts(ids, { isOptional: false, cache: part.cache }) : [part];
  });
  return { ...message, content };
}

/** Documents stand apart from what is said beside them. */
function withTexts(message: Message, blockOf: (source: DocumentSource) => string): Message {
  if (!message.content.some(({ type }) => type === 'document')) return message;
  const content: Part[] = [];
  let wasDocument = false;
  for (const part of message.content) {
    const isDocument = part.type === 'document';
    if (content.length > 0 && (isDocument || wasDocument)) content.push({ type: 'text', text: '\n\n' });
    content.push(isDocument ? { type: 'text', text: blockOf(part.source), ...present({ cache: part.cache }) } : part);
    wasDocument = isDocument;
  }
  return { ...message, content };
}

const tooMany = (count: number): ServiceError =>
  new ServiceError('invalid-request', `A request may name at most ${REQUEST_DOCUMENTS_MAX} files, got ${count}.`);

const tooLarge = (bytes: number, named: readonly Ready[]): ServiceError =>
  new ServiceError(
    'context-exceeded',
    `The documents of a request may have at most ${REQUEST_DOCUMENT_BYTES_MAX} bytes of text together, these have ${bytes}: ${lengthsOf(named)}.`,
  );

/** Whoever counts tells tokens of all of the prompt; how much of that are documents is known here. */
function withLengths(thrown: unknown, named: readonly Ready[]): unknown {
  if (!(thrown instanceof ServiceError) || thrown.kind !== 'context-exceeded' || named.length === 0) return thrown;
  const { message, param, excess } = thrown;
  const chars = named.reduce((sum, each) => sum + each.chars, 0);
  const told = `${message} (its documents have ${chars} characters of text: ${lengthsOf(named)})`;
  return new ServiceError('context-exceeded', told, { param, excess, cause: thrown });
}

const NAMED_MAX = 5;

function lengthsOf(named: readonly Ready[]): string {
  const shown = named.slice(0, NAMED_MAX).map(({ name, chars }) => `${name} ${chars}`);
  return [...shown, ...(named.length > NAMED_MAX ? [`${named.length - NAMED_MAX} more`] : [])].join(', ');
}
