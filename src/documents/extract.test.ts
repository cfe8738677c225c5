import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { makeDocx } from './__fixtures__/make-zip.ts';
import { createExtract, type ExtractOptions } from './extract.ts';

async function* pieces(bytes: Uint8Array, size = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const never = new AbortController().signal;

const read = async (name: string, bytes: Uint8Array, options?: ExtractOptions, signal = never) => {
  const found = await createExtract(options)(pieces(bytes), { name, sizeBytes: bytes.length, signal });
  return found.type === 'failed' ? found.reason : `${found.kind}: ${Buffer.from(found.text).toString()}`;
};
/** As many elements as fit into a second or more of work. */
const slow = makeDocx(`<w:document>${'<w:p><w:r><w:t>x</w:t></w:r></w:p>'.repeat(400_000)}`);

describe('a document in a process of its own', () => {
  test('comes back as its text, whatever pieces it goes in', async () => {
    const bytes = readFileSync(new URL('./__fixtures__/two-pages.pdf', import.meta.url));
    const extract = createExtract();
    const wish = { name: 'a', sizeBytes: bytes.length, signal: never };
    const found = await extract(pieces(bytes, 100), wish);
    assert.ok(found.type === 'text' && found.kind === 'pdf');
    assert.equal(await read('ü.txt', Buffer.from('grün 中😀')), 'text: grün 中😀');
  });

  test('that takes too long has failed, and says so', async () => {
    assert.equal(await read('a.docx', slow, { limits: { msMax: 200 } }), 'The file takes longer than 200 ms to read.');
  });

  test('that takes too much memory has failed, and says so', async () => {
    const reason = 'The file takes too much memory to read.';
    assert.equal(await read('a.docx', slow, { limits: { residentBytesMax: 1024 * 1024 } }), reason);
    const html = Buffer.from(`<p ${Array.from({ length: 300_000 }, (_, at) => `a${at}=b`).join(' ')}>x`);
    assert.equal(await read('a.html', html, { limits: { heapMb: 8 } }), reason);
  });

  test('that is larger than what is read is not even begun', async () => {
    const extract = createExtract({ limits: { sourceBytesMax: 10 } });
    const found = await extract(pieces(Buffer.alloc(0)), { name: 'a', sizeBytes: 11, signal: never });
    assert.deepEqual(found, {
      type: 'failed',
      reason: 'The file has 11 bytes; one of which the text is read may have 10.',
    });
  });

  test('a hundred megabytes of text end with the first that are too many', async () => {
    const line = Buffer.from('1,2,3,4,5,6,7\n'.repeat(5_000));
    async function* many() {
      for (let at = 0; at < 1_400; at++) yield line;
    }
    const extract = createExtract();
    const found = await extract(many(), { name: 'a.csv', sizeBytes: line.length * 1_400, signal: never });
    assert.ok(found.type === 'failed' && /more text than/.test(found.reason));
  });

  test('ends with whoever waits for it', async () => {
    const controller = new AbortController();
    const reading = read('a.docx', slow, {}, controller.signal);
    controller.abort(new Error('nobody waits'));
    await assert.rejects(reading, { message: 'nobody waits' });
    // Also in the middle of it: when the last byte is asked for, the process is at work.
    const later = new AbortController();
    async function* source() {
      yield slow.subarray(0, -1);
      later.abort(new Error('nobody waits any more'));
      yield slow.subarray(-1);
    }
    const wish = { name: 'a.docx', sizeBytes: slow.length, signal: later.signal };
    await assert.rejects(createExtract()(source(), wish), { message: 'nobody waits any more' });
  });

  test('whose source breaks off fails as that did, and so does one of another length', async () => {
    const extract = createExtract();
    async function* broken() {
      yield Buffer.from('a');
      throw new Error('the disk is gone');
    }
    await assert.rejects(extract(broken(), { name: 'a', sizeBytes: 5, signal: never }), {
      message: 'the disk is gone',
    });
    const short = extract(pieces(Buffer.from('ab')), { name: 'a', sizeBytes: 5, signal: never });
    await assert.rejects(short, /fewer bytes/);
    const long = extract(pieces(Buffer.from('abcdef')), { name: 'a', sizeBytes: 5, signal: never });
    await assert.rejects(long, /more bytes/);
  });

  test('leaves no process behind', async () => {
    await read('a.txt', Buffer.from('a'));
    const all = execFileSync('ps', ['-axo', 'ppid=,args='], { encoding: 'utf8' }).split('\n');
    const children = all.filter((line) => line.trim().startsWith(`${process.pid} `)).join();
    assert.doesNotMatch(children, /reader-process/);
  });

  test('waits for its turn, and no more of them wait than may', async () => {
    const extract = createExtract({ atOnce: 1, waitingMax: 1 });
    const one = () => extract(pieces(Buffer.from('a')), { name: 'a', sizeBytes: 1, signal: never });
    const [first, second] = [one(), one()];
    await assert.rejects(one(), { kind: 'overloaded' });
    assert.deepEqual([(await first).type, (await second).type, (await one()).type], ['text', 'text', 'text']);
  });

  test('one that is not waited for any more gives its place in the queue back', async () => {
    const extract = createExtract({ atOnce: 1, waitingMax: 1 });
    const controller = new AbortController();
    const wish = { name: 'a', sizeBytes: 1 };
    const first = extract(pieces(Buffer.from('a')), { ...wish, signal: never });
    const second = extract(pieces(Buffer.from('a')), { ...wish, signal: controller.signal });
    controller.abort(new Error('gone'));
    await assert.rejects(second, { message: 'gone' });
    const third = extract(pieces(Buffer.from('a')), { ...wish, signal: never });
    assert.deepEqual([(await first).type, (await third).type], ['text', 'text']);
  });
});
