import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createInlineExtractor } from './inline-extractor.ts';
import { INLINE_DOCUMENT_BYTES_MAX } from './limits.ts';

const { signal } = new AbortController();

describe('createInlineExtractor', () => {
  let forwarded: string[] = [];
  const extract = createInlineExtractor(async (source, { name, sizeBytes }) => {
    let bytes = 0;
    for await (const piece of source) bytes += piece.length;
    assert.equal(bytes, sizeBytes);
    forwarded.push(name);
    return { type: 'failed', reason: 'sent' };
  });
  const read = async (name: string, bytes: Uint8Array | string) => {
    forwarded = [];
    const all = Buffer.from(bytes);
    const result = await extract(
      (async function* () {
        yield all;
      })(),
      { tenant: { region: 'cn-beijing', workspace: 'ws' }, name, sizeBytes: all.length, signal },
    );
    return result.type === 'text' ? `${result.kind}: ${Buffer.from(result.text).toString()}` : result.reason;
  };

  it('extracts plain texts without a process', async () => {
    assert.equal(await read('a.md', '# Öl\r\n'), 'markdown: # Öl\n');
    assert.equal(await read('a.TXT', Buffer.from([0xff, 0xfe, 0x41, 0])), 'text: A');
    assert.equal(await read('a.csv', 'a,b'), 'csv: a,b');
    assert.equal(await read('a.json', '{}'), 'json: {}');
    assert.equal(await read('a.unknown', 'x'), 'text: x');
    assert.equal(await read('blank.txt', ' \n'), 'The file has no text.');
    assert.deepEqual(forwarded, []);
  });

  it('passes on large, empty and other files, whatever their name', async () => {
    const others: [string, Uint8Array | string][] = [
      ['a.html', '<p>x'],
      ['a.pdf', '%PDF-1.7'],
      ['a.md', Buffer.from('PK\u0003\u0004')],
      ['a.org', '<!doctype html><p>x'],
      ['a.txt', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0])],
      ['empty.md', ''],
      ['large.md', 'x'.repeat(INLINE_DOCUMENT_BYTES_MAX + 1)],
    ];
    for (const [name, bytes] of others) {
      assert.equal(await read(name, bytes), 'sent', name);
      assert.deepEqual(forwarded, [name]);
    }
  });
});
