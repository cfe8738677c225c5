import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { afterEach, describe, test } from 'node:test';
import { until } from '../../test/until.ts';
import type { Tenant } from '../core/context.ts';
import { createTestDocx } from './__fixtures__/test-zip.ts';
import { createDocumentExtractor, type DocumentExtractorOptions } from './document-extractor.ts';

async function* yieldPieces(bytes: Uint8Array, size = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const NEVER_ABORTED = new AbortController().signal;
const TENANT = { region: 'cn-beijing', workspace: 'ws' } as const;

const read = async (name: string, bytes: Uint8Array, options?: DocumentExtractorOptions, signal = NEVER_ABORTED) => {
  const result = await createDocumentExtractor(options)(yieldPieces(bytes), {
    tenant: TENANT,
    name,
    sizeBytes: bytes.length,
    signal,
  });
  return result.type === 'failed' ? result.reason : `${result.kind}: ${Buffer.from(result.text).toString()}`;
};
const REQUEST = { tenant: TENANT, signal: NEVER_ABORTED };

/** Returns the ids of the processes that read documents for this one. */
const listReaders = (): readonly number[] =>
  execFileSync('ps', ['-axo', 'ppid=,pid=,args='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes('reader-process') && line.trim().startsWith(`${process.pid} `))
    .map((line) => Number(line.trim().split(/\s+/)[1]));

const waitUntilEnded = (reader: number): Promise<boolean> =>
  until('the process ends', { timeoutMs: 10_000 }, async () => (listReaders().includes(reader) ? undefined : true));

/** A document that takes a second or more to read. */
const SLOW_DOCUMENT = createTestDocx(`<w:document>${'<w:p><w:r><w:t>x</w:t></w:r></w:p>'.repeat(400_000)}`);

describe('createDocumentExtractor', () => {
  // Each test sees its own processes only.
  afterEach(async () => {
    for (const reader of listReaders()) {
      process.kill(reader, 'SIGKILL');
      await waitUntilEnded(reader);
    }
  });

  test('returns the same text for every piece size', async () => {
    const bytes = readFileSync(new URL('./__fixtures__/two-pages.pdf', import.meta.url));
    const extract = createDocumentExtractor();
    const request = { tenant: TENANT, name: 'a', sizeBytes: bytes.length, signal: NEVER_ABORTED };
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
      tenant: TENANT,
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
      tenant: TENANT,
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
    const request = { tenant: TENANT, name: 'a.docx', sizeBytes: SLOW_DOCUMENT.length, signal: later.signal };
    await assert.rejects(createDocumentExtractor()(source(), request), { message: 'nobody waits any more' });
  });

  test('rejects with the error of the source, and for a source of another length', async () => {
    const extract = createDocumentExtractor();
    async function* broken() {
      yield Buffer.from('a');
      throw new Error('the disk is gone');
    }
    await assert.rejects(extract(broken(), { tenant: TENANT, name: 'a', sizeBytes: 5, signal: NEVER_ABORTED }), {
      message: 'the disk is gone',
    });
    const short = extract(yieldPieces(Buffer.from('ab')), {
      tenant: TENANT,
      name: 'a',
      sizeBytes: 5,
      signal: NEVER_ABORTED,
    });
    await assert.rejects(short, /fewer bytes/);
    const long = extract(yieldPieces(Buffer.from('abcdef')), {
      tenant: TENANT,
      name: 'a',
      sizeBytes: 5,
      signal: NEVER_ABORTED,
    });
    await assert.rejects(long, /more bytes/);
  });

  test('reads simple documents one after the other in one process, until it has read enough', async () => {
    const extract = createDocumentExtractor({ documentsPerProcess: 2 });
    const readPage = async () => {
      const result = await extract([Buffer.from('<p>a')], { ...REQUEST, name: 'a.html', sizeBytes: 4 });
      assert.equal(result.type, 'text');
      return listReaders();
    };
    const [reader, ...others] = await readPage();
    assert.ok(reader !== undefined && others.length === 0);
    await readPage();
    await waitUntilEnded(reader);
    const [next] = await readPage();
    assert.notEqual(next, reader);
  });

  test('fails for a page that exceeds a limit, and reads the pages after it', async () => {
    const extract = createDocumentExtractor({ limits: { heapMb: 24 } });
    const good = Buffer.from('<p>good');
    const hostile = Buffer.from(`<p ${Array.from({ length: 300_000 }, (_, at) => `a${at}=b`).join(' ')}>x`);
    const readPage = async (bytes: Uint8Array) => {
      const result = await extract([bytes], { ...REQUEST, name: 'a.html', sizeBytes: bytes.length });
      return result.type === 'text' ? Buffer.from(result.text).toString() : result.reason;
    };
    const results = [await readPage(good), await readPage(hostile), await readPage(good)];
    assert.deepEqual(results, ['good', 'The file takes too much memory to read.', 'good']);
  });

  test('reads a document whose process is killed in another one', async () => {
    const extract = createDocumentExtractor();
    const page = Buffer.from(`<p>${'many words '.repeat(200_000)}`);
    const request = { ...REQUEST, name: 'a.html', sizeBytes: page.length };
    await extract([Buffer.from('<p>a')], { ...request, sizeBytes: 4 });
    const [reader] = listReaders();
    assert.ok(reader !== undefined);
    const reading = extract([page], request);
    // The kill arrives before or while the process reads; both must not fail the document.
    process.kill(reader, 'SIGKILL');
    assert.equal((await reading).type, 'text');
  });

  test('never reads documents of two workspaces or regions in one process', async () => {
    const extract = createDocumentExtractor();
    const readFor = async (tenant: Tenant) => {
      const known = new Set(listReaders());
      await extract([Buffer.from('<p>a')], { ...REQUEST, tenant, name: 'a.html', sizeBytes: 4 });
      return listReaders().filter((pid) => !known.has(pid)).length;
    };
    const tenants: readonly Tenant[] = [
      TENANT,
      { ...TENANT, workspace: 'other' },
      { ...TENANT, region: 'eu-central-1' },
      TENANT,
    ];
    const started: number[] = [];
    for (const tenant of tenants) started.push(await readFor(tenant));
    assert.deepEqual(started, [1, 1, 1, 0]);
  });

  /** Counts the processes that others run beside, at each start of one. */
  const recordStarts = () => {
    const others: number[] = [];
    const onStart = (): void => void others.push(listReaders().length);
    subscribe('child_process', onStart);
    return { others, stop: () => unsubscribe('child_process', onStart) };
  };

  test('ends an idle process before it starts one more than it may', async () => {
    const extract = createDocumentExtractor({ concurrency: 2 });
    const starts = recordStarts();
    for (const workspace of ['a', 'b', 'c'])
      await extract([Buffer.from('<p>a')], {
        ...REQUEST,
        tenant: { ...TENANT, workspace },
        name: 'a.html',
        sizeBytes: 4,
      });
    await extract([SLOW_DOCUMENT.subarray(0, 99)], { ...REQUEST, name: 'a.docx', sizeBytes: 99 });
    starts.stop();
    assert.deepEqual(starts.others, [0, 1, 1, 1]);
  });

  test('reads a document that takes too long only once', async () => {
    const extract = createDocumentExtractor({ limits: { cpuMsMax: 1_000 } });
    const starts = recordStarts();
    const readPage = (page: Buffer) => extract([page], { ...REQUEST, name: 'a.html', sizeBytes: page.length });
    assert.equal((await readPage(Buffer.from('<p>a'))).type, 'text');
    const slow = Buffer.from('<p><b>x</b><a href=y>z</a></p>'.repeat(250_000));
    assert.deepEqual(await readPage(slow), { type: 'failed', reason: 'The file takes longer than 1000 ms to read.' });
    starts.stop();
    assert.equal(starts.others.length, 1);
  });

  test('ends the process of an office document at once, and an idle one soon', async () => {
    await createDocumentExtractor()([SLOW_DOCUMENT.subarray(0, 99)], { ...REQUEST, name: 'a.docx', sizeBytes: 99 });
    assert.deepEqual(listReaders(), []);
    await createDocumentExtractor({ idleMs: 1 })([Buffer.from('a')], { ...REQUEST, name: 'a.txt', sizeBytes: 1 });
    for (const reader of listReaders()) await waitUntilEnded(reader);
  });

  test('does not keep its own process alive with an idle one', () => {
    const url = new URL('./document-extractor.ts', import.meta.url).href;
    const program = `
      const { createDocumentExtractor } = await import(${JSON.stringify(url)});
      const request = { tenant: ${JSON.stringify(TENANT)}, name: 'a.html', sizeBytes: 4, signal: new AbortController().signal };
      console.log((await createDocumentExtractor({ idleMs: 600_000 })([Buffer.from('<p>a')], request)).type);`;
    const options = { encoding: 'utf8', timeout: 60_000 } as const;
    assert.equal(execFileSync(process.execPath, ['--input-type=module', '-e', program], options).trim(), 'text');
  });

  test('queues extractions, and refuses more than the queue holds', async () => {
    const extract = createDocumentExtractor({ concurrency: 1, queueLengthMax: 1 });
    const one = () =>
      extract(yieldPieces(Buffer.from('a')), { tenant: TENANT, name: 'a', sizeBytes: 1, signal: NEVER_ABORTED });
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
    const slow = [1, 2, 3].map(() =>
      extract(holdSource(), { ...request, tenant: { ...TENANT, workspace: 'attacker' } }),
    );
    const other = await extract(yieldPieces(Buffer.from('b')), {
      ...request,
      tenant: { ...TENANT, workspace: 'other' },
    });
    assert.equal(other.type, 'text');
    release();
    assert.ok((await Promise.all(slow)).every(({ type }) => type === 'text'));
  });

  test('runs with a lower priority than the service', async () => {
    await createDocumentExtractor()([Buffer.from('a')], { ...REQUEST, name: 'a.txt', sizeBytes: 1 });
    const [reader] = listReaders();
    assert.ok(reader !== undefined && getPriority(reader) > getPriority());
  });

  test('frees the place in the queue of an aborted extraction', async () => {
    const extract = createDocumentExtractor({ concurrency: 1, queueLengthMax: 1 });
    const controller = new AbortController();
    const request = { tenant: TENANT, name: 'a', sizeBytes: 1 };
    const first = extract(yieldPieces(Buffer.from('a')), { ...request, signal: NEVER_ABORTED });
    const second = extract(yieldPieces(Buffer.from('a')), { ...request, signal: controller.signal });
    controller.abort(new Error('gone'));
    await assert.rejects(second, { message: 'gone' });
    const third = extract(yieldPieces(Buffer.from('a')), { ...request, signal: NEVER_ABORTED });
    assert.deepEqual([(await first).type, (await third).type], ['text', 'text']);
  });
});
