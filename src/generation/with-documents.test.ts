import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { RequestContext } from '../core/context.ts';
import type { DocumentLookup } from '../core/document.ts';
import { ServiceError } from '../core/error.ts';
import { REQUEST_DOCUMENTS_MAX } from '../core/limits.ts';
import { REQUEST_DOCUMENT_BYTES_MAX } from './limits.ts';
import type { Message, ContentPart } from '../core/message.ts';
import { NO_STOP, type GenerationRequest } from '../core/request.ts';
import { createWithDocuments } from './with-documents.ts';

const CONTEXT: RequestContext = {
  requestId: 'r',
  owner: { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' },
  signal: new AbortController().signal,
  log: { add: () => undefined, warn: () => undefined },
};
const ON = { interface: 'chat' } as const;

const text = (content: string): ContentPart => ({ type: 'text', text: content });
const request = (...messages: readonly Message[]): GenerationRequest => ({
  model: 'm',
  messages,
  sampling: {},
  stop: NO_STOP,
  choices: 1,
});
const system = (...content: readonly ContentPart[]): Message => ({ role: 'system', content });
const optional = (id: string): ContentPart => ({ type: 'document', source: { type: 'file', id, isOptional: true } });
const data = (name: string, content: string): ContentPart => ({
  type: 'document',
  source: { type: 'data', name, base64: Buffer.from(content).toString('base64') },
});
const ready = (name: string, content: string, bytes = Buffer.byteLength(content)): DocumentLookup => ({
  type: 'ready',
  name,
  chars: content.length,
  bytes,
  read: async () => content,
});

describe('createWithDocuments', () => {
  const files = new Map<string, DocumentLookup>();
  const requestedIds: string[] = [];
  let extracted = 0;
  let ignored: readonly string[] = [];
  const { resolveMessages, handledRequests } = (() => {
    const handledRequests: GenerationRequest[] = [];
    const withDocuments = createWithDocuments({
      findDocument: async (_owner, id) => {
        requestedIds.push(id);
        return files.get(id) ?? { type: 'refused', message: `Invalid file [id:${id}].` };
      },
      async extract(source, { name }) {
        extracted++;
        const bytes = Buffer.concat(await Array.fromAsync(source));
        if (name === 'broken') return { type: 'failed', reason: 'The file is damaged.' };
        return { type: 'text', kind: 'text', text: bytes, chars: bytes.length };
      },
    });
    let fails: ServiceError | undefined;
    const generate = withDocuments(async (whole) => {
      handledRequests.push(whole);
      if (fails) throw fails;
      return { ignored: ['inner'] };
    });
    const resolveMessages = async (
      generationRequest: GenerationRequest,
      failure?: ServiceError,
      context = CONTEXT,
    ): Promise<readonly Message[]> => {
      fails = failure;
      ({ ignored } = await generate(generationRequest, ON, context));
      assert.equal(ignored[0], 'inner');
      return handledRequests.at(-1)?.messages ?? [];
    };
    return { resolveMessages, handledRequests };
  })();
  beforeEach(() => {
    files.clear();
    requestedIds.length = 0;
    handledRequests.length = 0;
    extracted = 0;
  });

  test('passes a request without documents on unchanged', async () => {
    const generationRequest = request(system(text('Be brief.')), {
      role: 'user',
      content: [text('fileid://file-fe-a')],
    });
    assert.equal(await resolveMessages(generationRequest), generationRequest.messages);
    assert.deepEqual(requestedIds, []);
  });

  test('separates documents by blank lines, keeps their order, reads each once and keeps the cache mark', async () => {
    files.set('a', ready('a.txt', 'A')).set('b', ready('b.txt', 'B'));
    const list: ContentPart = { type: 'text', text: 'fileid://a,fileid://b,fileid://a', cache: 'ephemeral' };
    const [message] = await resolveMessages(request(system(text('Be brief.'), list)));
    const block = (name: string, content: string) => text(`<document name="${name}.txt">\n${content}\n</document>`);
    const gap = text('\n\n');
    assert.deepEqual(message?.content, [
      text('Be brief.'),
      gap,
      block('a', 'A'),
      gap,
      block('b', 'B'),
      gap,
      { ...block('a', 'A'), cache: 'ephemeral' },
    ]);
    assert.deepEqual(requestedIds, ['a', 'b']);
  });

  test('replaces a missing optional document by a note and rejects a request with a missing required one', async () => {
    const [message] = await resolveMessages(request({ role: 'user', content: [optional('x'), text('And?')] }));
    assert.deepEqual(ignored, ['inner', 'file(x)']);
    assert.deepEqual(message?.content, [
      text('[A file stood here that is not available: Invalid file [id:x].]'),
      text('\n\n'),
      text('And?'),
    ]);
    const refused = { kind: 'invalid-request', message: 'Invalid file [id:x].' };
    await assert.rejects(resolveMessages(request(system(text('fileid://x')))), refused);
  });

  test('rejects a request whose document is not ready, also for an optional one', async () => {
    files.set('a', { type: 'waiting' });
    const refused = { kind: 'invalid-request', message: 'File parsing in progress, please try again later.' };
    await assert.rejects(resolveMessages(request(system(text('fileid://a')))), refused);
    await assert.rejects(resolveMessages(request({ role: 'user', content: [optional('a')] })), refused);
  });

  test('limits the number of documents and their bytes', async () => {
    files.set('a', ready('a.txt', 'A', REQUEST_DOCUMENT_BYTES_MAX / 2));
    const times = (count: number) => request(system(text(Array.from({ length: count }, () => 'fileid://a').join())));
    await resolveMessages(times(2));
    await assert.rejects(resolveMessages(times(3)), (error) => {
      assert.ok(error instanceof ServiceError && error.kind === 'context-exceeded');
      return /at most 16777216 bytes of text together, got 25165824: a.txt 1, a.txt 1, a.txt 1/.test(error.message);
    });
    files.set('a', ready('a.txt', 'A'));
    await resolveMessages(times(REQUEST_DOCUMENTS_MAX));
    await assert.rejects(resolveMessages(times(REQUEST_DOCUMENTS_MAX + 1)), /at most 100 files, got at least 101/);
  });

  test("adds the documents' lengths when the prompt is too long", async () => {
    files.set('a', ready('a.txt', 'long'));
    const excess = { tokens: 9, tokensMax: 5 };
    const failure = new ServiceError('context-exceeded', 'too long', { param: 'messages', tokenOverflow: excess });
    await assert.rejects(resolveMessages(request(system(text('fileid://a'))), failure), {
      kind: 'context-exceeded',
      message: 'too long (its documents have 4 characters of text: a.txt 4)',
      param: 'messages',
      tokenOverflow: excess,
    });
    await assert.rejects(resolveMessages(request(system(text('no document'))), failure), failure);
    const other = new ServiceError('overloaded', 'busy');
    await assert.rejects(resolveMessages(request(system(text('fileid://a'))), other), other);
  });

  test('reads documents sent in the request and caches their texts', async () => {
    const generationRequest = request({ role: 'user', content: [data('a.txt', 'grün')] });
    for (let times = 0; times < 2; times++) {
      const [message] = await resolveMessages(generationRequest);
      assert.deepEqual(message?.content, [text('<document name="a.txt">\ngrün\n</document>')]);
    }
    assert.equal(extracted, 1);
    const others = [
      { ...CONTEXT.owner, workspace: 'other' },
      { ...CONTEXT.owner, region: 'eu-central-1' },
    ] as const;
    for (const owner of others) await resolveMessages(generationRequest, undefined, { ...CONTEXT, owner });
    assert.equal(extracted, 3, 'another tenant must not notice from the time that the text is cached');
    await assert.rejects(resolveMessages(request({ role: 'user', content: [data('broken', 'x')] })), {
      kind: 'invalid-request',
      message: 'broken: The file is damaged.',
    });
  });
});
