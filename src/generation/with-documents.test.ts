import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { RequestContext } from '../core/context.ts';
import type { FoundDocument } from '../core/document.ts';
import { ServiceError } from '../core/error.ts';
import { REQUEST_DOCUMENT_BYTES_MAX, REQUEST_DOCUMENTS_MAX } from '../core/limits.ts';
import type { Message, Part } from '../core/message.ts';
import { NO_STOP } from '../core/request.ts';
import type { GenerationRequest } from '../core/request.ts';
import { createWithDocuments } from './with-documents.ts';

const CONTEXT: RequestContext = {
  requestId: 'r',
  owner: { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' },
  signal: new AbortController().signal,
  log: { add: () => undefined, warn: () => undefined },
};
const ON = { interface: 'chat' } as const;

const text = (said: string): Part => ({ type: 'text', text: said });
const request = (...messages: readonly Message[]): GenerationRequest => ({
  model: 'm',
  messages,
  sampling: {},
  stop: NO_STOP,
  choices: 1,
});
const system = (...content: readonly Part[]): Message => ({ role: 'system', content });
const optional = (id: string): Part => ({ type: 'document', source: { type: 'file', id, isOptional: true } });
const data = (name: string, content: string): Part => ({
  type: 'document',
  source: { type: 'data', name, base64: Buffer.from(content).toString('base64') },
});
const ready = (name: string, content: string, bytes = Buffer.byteLength(content)): FoundDocument => ({
  type: 'ready',
  name,
  chars: content.length,
  bytes,
  read: async () => content,
});

describe('documents in a request', () => {
  const files = new Map<string, FoundDocument>();
  const found: string[] = [];
  let extracted = 0;
  const { told, seen } = (() => {
    const seen: GenerationRequest[] = [];
    const withDocuments = createWithDocuments({
      findDocument: async (_owner, id) => {
        found.push(id);
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
      seen.push(whole);
      if (fails) throw fails;
      return 'done';
    });
    const told = async (asked: GenerationRequest, failure?: ServiceError): Promise<readonly Message[]> => {
      fails = failure;
      assert.equal(await generate(asked, ON, CONTEXT), 'done');
      return seen.at(-1)?.messages ?? [];
    };
    return { told, seen };
  })();
  beforeEach(() => {
    files.clear();
    found.length = 0;
    seen.length = 0;
    extracted = 0;
  });

  test('a request that names none goes on as it is', async () => {
    const asked = request(system(text('Be brief.')), { role: 'user', content: [text('fileid://file-fe-a')] });
    assert.equal(await told(asked), asked.messages);
    assert.deepEqual(found, []);
  });

  test('stand apart, in their order, each read once, and marked where the list was', async () => {
    files.set('a', ready('a.txt', 'A')).set('b', ready('b.txt', 'B'));
    const list: Part = { type: 'text', text: 'fileid://a,fileid://b,fileid://a', cache: 'ephemeral' };
    const [message] = await told(request(system(text('Be brief.'), list)));
    const block = (name: string, said: string) => text(`<document name="${name}.txt">\n${said}\n</document>`);
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
    assert.deepEqual(found, ['a', 'b']);
  });

  test('that may be missing are told as missing, and those that may not refuse the request', async () => {
    const [message] = await told(request({ role: 'user', content: [optional('x'), text('And?')] }));
    assert.deepEqual(message?.content, [
      text('[A file stood here that is not available: Invalid file [id:x].]'),
      text('\n\n'),
      text('And?'),
    ]);
    const refused = { kind: 'invalid-request', message: 'Invalid file [id:x].' };
    await assert.rejects(told(request(system(text('fileid://x')))), refused);
  });

  test('that are not read yet refuse the request, also where they may be missing', async () => {
    files.set('a', { type: 'waiting' });
    const refused = { kind: 'invalid-request', message: 'File parsing in progress, please try again later.' };
    await assert.rejects(told(request(system(text('fileid://a')))), refused);
    await assert.rejects(told(request({ role: 'user', content: [optional('a')] })), refused);
  });

  test('are no more than may be, and neither are their bytes', async () => {
    files.set('a', ready('a.txt', 'A', REQUEST_DOCUMENT_BYTES_MAX / 2));
    const times = (count: number) => request(system(text(Array.from({ length: count }, () => 'fileid://a').join())));
    await told(times(2));
    await assert.rejects(told(times(3)), (error) => {
      assert.ok(error instanceof ServiceError && error.kind === 'context-exceeded');
      return /at most 16777216 bytes of text together, these have 25165824: a.txt 1, a.txt 1, a.txt 1/.test(
        error.message,
      );
    });
    files.set('a', ready('a.txt', 'A'));
    await told(times(REQUEST_DOCUMENTS_MAX));
    await assert.rejects(told(times(REQUEST_DOCUMENTS_MAX + 1)), /at most 100 files, got 101/);
  });

  test('are named with their lengths where the prompt is too long', async () => {
    files.set('a', ready('a.txt', 'long'));
    const excess = { tokens: 9, tokensMax: 5 };
    const failure = new ServiceError('context-exceeded', 'too long', { param: 'messages', excess });
    await assert.rejects(told(request(system(text('fileid://a'))), failure), {
      kind: 'context-exceeded',
      message: 'too long (its documents have 4 characters of text: a.txt 4)',
      param: 'messages',
      excess,
    });
    await assert.rejects(told(request(system(text('no document'))), failure), failure);
    const other = new ServiceError('overloaded', 'busy');
    await assert.rejects(told(request(system(text('fileid://a'))), other), other);
  });

  test('that come with the request are read, and only once for the requests that go on from it', async () => {
    const asked = request({ role: 'user', content: [data('a.txt', 'grün')] });
    for (let times = 0; times < 2; times++) {
      const [message] = await told(asked);
      assert.deepEqual(message?.content, [text('<document name="a.txt">\ngrün\n</document>')]);
    }
    assert.equal(extracted, 1);
    await assert.rejects(told(request({ role: 'user', content: [data('broken', 'x')] })), {
      kind: 'invalid-request',
      message: 'broken: The file is damaged.',
    });
  });
});
