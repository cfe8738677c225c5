import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { describe, test } from 'node:test';
import { createTestDocx } from './__fixtures__/test-zip.ts';
import { createDocumentExtractor, type DocumentExtractorOptions } from './document-extractor.ts';

async function* yieldPieces(bytes: Uint8Array, size = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const NEVER_ABORTED = new AbortController().signal;

const read = async (name: string, bytes: Uint8Array, options?: DocumentExtractorOptions, signal = NEVER_ABORTED) => {
  const result = await createDocumentExtractor(options)(yieldPieces(bytes), {
    workspace: 'ws',
    name,
    sizeBytes: bytes.length,
    signal,
  });
  return result.type === 'failed' ? result.reason : `${result.kind}: ${Buffer.from(result.text).toString()}`;
};
/** A document that takes a second or more to read. */
const SLOW_DOCUMENT = createTestDocx(`<w:document>${'<w:p><w:r><w:t>x</w:t></w:r></w:p>'.repeat(400_000)}`);

describe('createDocumentExtractor', () => {
  test('returns the same text for every piece size', async () => {
    const bytes = readFileSync(new URL('./__fixtures__/two-pages.pdf', import.meta.url));
    const extract = createDocumentExtractor();
    const request = { workspace: 'ws', name: 'a', sizeBytes: bytes.length, signal: NEVER_ABORTED };
    const result = await extract(yieldPieces(bytes, 100), request);
    assert.ok(result.type === 'text' && result.kind === 'pdf');
    assert.equal(await read('ü.txt', Buffer.from('grün 中😀')), 'text: grün 中😀');
  });

  test('fails for a document that takes too long', async () => {
    assert.equal(
      await read('a.docx', SLOW_DOCUMENT, { limits: { cpuMsMax: 200 } }),
      'The file takes longer than 200 ms to read.',
    );
  });

  test('fails for a document that takes too much memory', async () => {
    const reason = 'The file takes too much memory to read.';
    assert.equal(await read('a.docx', SLOW_DOCUMENT, { limits: { residentBytesMax: 1024 * 1024 } }), reason);
    const html = Buffer.from(`<p ${Array.from({ length: 300_000 }, (_, at) => `a${at}=b`).join(' ')}>x`);
    assert.equal(await read('a.html', html, { limits: { heapMb: 8 } }), reason);
  });

  test('refuses a document above the size limit without starting a process', async () => {
    const extract = createDocumentExtractor({ limits: { sourceBytesMax: 10 } });
    const result = await extract(yieldPieces(Buffer.alloc(0)), {
      workspace: 'ws',
      name: 'a',
      sizeBytes: 11,
      signal: NEVER_ABORTED,
    });
    assert.deepEqual(result, {
      type: 'failed',
      reason: 'The file has 11 bytes; text is extracted from files of at most 10 bytes.',
    });
  });

  test('fails for a hundred megabytes of text as soon as the limit is exceeded', async () => {
    const line = Buffer.from('1,2,3,4,5,6,7\n'.repeat(5_000));
    async function* many() {
      for (let at = 0; at < 1_400; at++) yield line;
    }
    const extract = createDocumentExtractor();
    const result = await extract(many(), {
      workspace: 'ws',
      name: 'a.csv',
      sizeBytes: line.length * 1_400,
      signal: NEVER_ABORTED,
    });
    assert.ok(result.type === 'failed' && /more than \d+ bytes of text/.test(result.reason));
  });

  test('rejects with the reason of an aborted signal', async () => {
    const controller = new AbortController();
    const reading = read('a.docx', SLOW_DOCUMENT, {}, controller.signal);
    controller.abort(new Error('nobody waits'));
    await assert.rejects(reading, { message: 'nobody waits' });
    // Aborts during the extraction: when the last byte is requested, the process is already running.
    const later = new AbortController();
    async function* source() {
      yield SLOW_DOCUMENT.subarray(0, -1);
      later.abort(new Error('nobody waits any more'));
      yield SLOW_DOCUMENT.subarray(-1);
    }
    const request = { workspace: 'ws', name: 'a.docx', sizeBytes: SLOW_DOCUMENT.length, signal: later.signal };
    await assert.rejects(createDocumentExtractor()(source(), request), { message: 'nobody waits any more' });
  });

  test('rejects with the error of the source, and for a source of another length', async () => {
    const extract = createDocumentExtractor();
    async function* broken() {
      yield Buffer.from('a');
      throw new Error('the disk is gone');
    }
    await assert.rejects(extract(broken(), { workspace: 'ws', name: 'a', sizeBytes: 5, signal: NEVER_ABORTED }), {
      message: 'the disk is gone',
    });
    const short = extract(yieldPieces(Buffer.from('ab')), {
      workspace: 'ws',
      name: 'a',
      sizeBytes: 5,
      signal: NEVER_ABORTED,
    });
    await assert.rejects(short, /fewer bytes/);
    const long = extract(yieldPieces(Buffer.from('abcdef')), {
      workspace: 'ws',
      name: 'a',
      sizeBytes: 5,
      signal: NEVER_ABORTED,
    });
    await assert.rejects(long, /more bytes/);
  });

  test('leaves no process running', async () => {
    await read('a.txt', Buffer.from('a'));
    const all = execFileSync('ps', ['-axo', 'ppid=,args='], { encoding: 'utf8' }).split('\n');
    const children = all.filter((line) => line.trim().startsWith(`${process.pid} `)).join();
    assert.doesNotMatch(children, /reader-process/);
  });

  test('queues extractions, and refuses more than the queue holds', async () => {
    const extract = createDocumentExtractor({ concurrency: 1, queueLengthMax: 1 });
    const one = () =>
      extract(yieldPieces(Buffer.from('a')), { workspace: 'ws', name: 'a', sizeBytes: 1, signal: NEVER_ABORTED });
    const [first, second] = [one(), one()];
    await assert.rejects(one(), { kind: 'overloaded' });
    assert.deepEqual([(await first).type, (await second).type, (await one()).type], ['text', 'text', 'text']);
  });

  test('leaves a process to other workspaces while one waits for its own documents', async () => {
    const extract = createDocumentExtractor({ concurrency: 2 });
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    async function* holdSource() {
      await held;
      yield Buffer.from('a');
    }
    const request = { name: 'a', sizeBytes: 1, signal: NEVER_ABORTED };
    const slow = [1, 2, 3].map(() => extract(holdSource(), { ...request, workspace: 'attacker' }));
    const other = await extract(yieldPieces(Buffer.from('b')), { ...request, workspace: 'other' });
    assert.equal(other.type, 'text');
    release();
    assert.ok((await Promise.all(slow)).every(({ type }) => type === 'text'));
  });

  test('runs with a lower priority than the service', async () => {
    const extract = createDocumentExtractor();
    let priority: number | undefined;
    async function* source() {
      const all = execFileSync('ps', ['-axo', 'ppid=,pid=,args='], { encoding: 'utf8' }).split('\n');
      const line = all.find((each) => each.includes('reader-process') && each.trim().startsWith(`${process.pid} `));
      priority = getPriority(Number(line?.trim().split(/\s+/)[1]));
      yield Buffer.from('a');
    }
    await extract(source(), { workspace: 'ws', name: 'a', sizeBytes: 1, signal: NEVER_ABORTED });
    assert.ok(priority !== undefined && priority > getPriority());
  });

  test('frees the place in the queue of an aborted extraction', async () => {
    const extract = createDocumentExtractor({ concurrency: 1, queueLengthMax: 1 });
    const controller = new AbortController();
    const request = { workspace: 'ws', name: 'a', sizeBytes: 1 };
    const first = extract(yieldPieces(Buffer.from('a')), { ...request, signal: NEVER_ABORTED });
    const second = extract(yieldPieces(Buffer.from('a')), { ...request, signal: controller.signal });
    controller.abort(new Error('gone'));
    await assert.rejects(second, { message: 'gone' });
    const third = extract(yieldPieces(Buffer.from('a')), { ...request, signal: NEVER_ABORTED });
    assert.deepEqual([(await first).type, (await third).type], ['text', 'text']);
  });
});
