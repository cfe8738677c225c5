import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { limitWasmMemory } from './limit-wasm-memory.ts';

const folder = dirname(createRequire(import.meta.url).resolve('pyodide/package.json'));

/** A module with one page of memory and a three-byte maximum. */
const createModule = (): Uint8Array =>
  new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 5, 6, 1, 1, 1, 0x80, 0x80, 0x04, 7, 5, 1, 1, 0x6d, 2, 0]);

interface Memory {
  grow(pages: number): number;
}

async function instantiateMemory(bytes: Uint8Array): Promise<Memory> {
  const { instantiate } = Reflect.get(globalThis, 'WebAssembly') as {
    instantiate(bytes: Uint8Array): Promise<{ readonly instance: { readonly exports: { readonly m: Memory } } }>;
  };
  return (await instantiate(bytes)).instance.exports.m;
}

describe('limitWasmMemory', () => {
  test('lets a module grow up to the limit and no page further', async () => {
    const bytes = createModule();
    limitWasmMemory(bytes, 4 * 65_536);
    const memory = await instantiateMemory(bytes);
    assert.equal(memory.grow(3), 1);
    assert.throws(() => memory.grow(1), RangeError);
  });

  test('is the reason: an unlimited module grows further', async () => {
    const memory = await instantiateMemory(createModule());
    assert.equal(memory.grow(100), 1);
  });

  test('refuses a limit below the initial memory, and a module without memory', () => {
    assert.throws(() => limitWasmMemory(createModule(), 1_000), RangeError);
    assert.throws(() => limitWasmMemory(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]), 65_536), RangeError);
  });

  test('limits the module of the interpreter', () => {
    const bytes = readFileSync(join(folder, 'pyodide.asm.wasm'));
    const before = Buffer.from(bytes);
    limitWasmMemory(bytes, 512 * 2 ** 20);
    let changed = 0;
    for (let at = 0; at < bytes.length; at++) if (bytes[at] !== before[at]) changed++;
    assert.ok(changed >= 1 && changed <= 3, `${changed} bytes`);
  });
});
