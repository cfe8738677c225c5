import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { createGgufHead } from '../../../weights/__fixtures__/test-gguf-head.ts';

interface TestModelFile {
  readonly folder: string;
  readonly modelFile: string;
  /** Size of the file in bytes. */
  readonly size: number;
  /** Memory of one token's context in bytes. */
  readonly tokenBytes: number;
}

/** 4 layers of 2 heads with 64 numbers each for keys and values, 2 bytes a number: 2 KiB for each token. */
const createHead = (trainedTokens: number) =>
  createGgufHead({
    'general.architecture': 'llama',
    'llama.block_count': 4,
    'llama.context_length': trainedTokens,
    'llama.embedding_length': 512,
    'llama.attention.head_count': 8,
    'llama.attention.head_count_kv': 2,
  });

/** Writes the header of a model into a temporary folder that is removed after the tests of the file. */
export function writeTestModelFile(trainedTokens = 2_000): TestModelFile {
  const head = createHead(trainedTokens);
  const folder = mkdtempSync(join(tmpdir(), 'parley-model-file-'));
  after(() => rmSync(folder, { recursive: true }));
  const modelFile = join(folder, 'model.gguf');
  writeFileSync(modelFile, head);
  return { folder, modelFile, size: head.length, tokenBytes: 2_048 };
}
