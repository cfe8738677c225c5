import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { ggufHead } from '../../../weights/__fixtures__/gguf-head.ts';

interface ModelFile {
  readonly folder: string;
  readonly modelFile: string;
  /** Of the file. */
  readonly size: number;
  /** Of its context, for a token. */
  readonly tokenBytes: number;
}

/** 4 layers of 2 heads with 64 numbers for keys and as many for values, at 2 bytes: 2 KiB for a token, and 2000 tokens. */
const HEAD = ggufHead({
  'general.architecture': 'llama',
  'llama.block_count': 4,
  'llama.context_length': 2_000,
  'llama.embedding_length': 512,
  'llama.attention.head_count': 8,
  'llama.attention.head_count_kv': 2,
});

/** The head of a model in a folder that goes after the tests of the file. */
export function writeModelFile(): ModelFile {
  const folder = mkdtempSync(join(tmpdir(), 'parley-model-file-'));
  after(() => rmSync(folder, { recursive: true }));
  const modelFile = join(folder, 'model.gguf');
  writeFileSync(modelFile, HEAD);
  return { folder, modelFile, size: HEAD.length, tokenBytes: 2_048 };
}
