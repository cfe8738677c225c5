import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createRankingModel } from './__fixtures__/ranking-model.ts';
import { createModelFileChecker } from './model-file-checker.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-checker-'));
after(() => rmSync(folder, { recursive: true }));

test('reads a model file again only when it has changed', async () => {
  const path = join(folder, 'model.gguf');
  const valid = createRankingModel();
  const time = new Date('2026-01-01');
  const write = (bytes: Uint8Array, modifiedAt = time): void => {
    writeFileSync(path, bytes);
    utimesSync(path, modifiedAt, modifiedAt);
  };
  const findProblem = createModelFileChecker();
  write(valid);
  assert.equal(await findProblem(path), undefined);
  const damaged = Buffer.from(valid);
  damaged.write('GGML');
  write(damaged);
  assert.equal(await findProblem(path), undefined, 'same size and time');
  write(damaged, new Date('2026-01-02'));
  assert.match((await findProblem(path)) ?? '', /no GGUF file/);
  write(valid.subarray(0, 500));
  assert.match((await findProblem(path)) ?? '', /truncated or damaged/);
  write(valid);
  assert.equal(await findProblem(path), undefined);
  rmSync(path);
});

test('says why a file cannot be read, and reads it again when it can be', async () => {
  const path = join(folder, 'later.gguf');
  const findProblem = createModelFileChecker();
  assert.equal(await findProblem(path), 'it cannot be read (ENOENT)');
  assert.equal(await findProblem(folder), 'it cannot be read (EISDIR)');
  writeFileSync(path, createRankingModel());
  assert.equal(await findProblem(path), undefined);
});
