import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { boundMemory } from './bound-memory.ts';

const folder = dirname(createRequire(import.meta.url).resolve('pyodide/package.json'));

/** A module whose memory has one page, and three bytes for the most it may have. */
const module = (): Uint8Array =>
  new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 5, 6, 1, 1, 1, 0x80, 0x80, 0x04, 7, 5, 1, 1, 0x6d, 2, 0]);

interface Memory {
  grow(pages: number): number;
}

async function memoryOf(bytes: Uint8Array): Promise<Memory> {
  const { instantiate } = Reflect.get(globalThis, 'WebAssembly') as {
    instantiate(bytes: Uint8Array): Promise<{ readonly instance: { readonly exports: { readonly m: Memory } } }>;
  };
  return (await instantiate(bytes)).instance.exports.m;
}

describe('boundMemory', () => {
  test('a module grows to the bound and no page further', async () => {
    const bytes = module();
    boundMemory(bytes, 4 * 65_536);
    const memory = await memoryOf(bytes);
    assert.equal(memory.grow(3), 1);
    assert.throws(() => memory.grow(1), RangeError);
  });

  test('an unbounded one grows further', async () => {
    const memory = await memoryOf(module());
    assert.equal(memory.grow(100), 1);
  });

  test('less than it begins with is refused', () => {
    assert.throws(() => boundMemory(module(), 1_000), RangeError);
    assert.throws(() => boundMemory(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]), 65_536), RangeError);
  });

  test('the interpreter can be bounded', () => {
    const bytes = readFileSync(join(folder, 'pyodide.asm.wasm'));
    const before = Buffer.from(bytes);
    boundMemory(bytes, 512 * 2 ** 20);
    let changed = 0;
    for (let at = 0; at < bytes.length; at++) if (bytes[at] !== before[at]) changed++;
    assert.ok(changed >= 1 && changed <= 3, `${changed} bytes`);
  });
});
