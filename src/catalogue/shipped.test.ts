import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listPartFiles } from '../core/split-model-file.ts';
import { expandCatalogue } from './expand-catalogue.ts';
import { readShippedCatalogue } from './shipped.ts';

const { weights } = expandCatalogue(await readShippedCatalogue());

test('pins the content of every file of the hub by its hash, of a split file for each part', () => {
  const sources = weights.flatMap((each) => each.sources).filter((source) => source.type === 'hub');
  assert.ok(sources.length >= 25, `${sources.length} files`);
  for (const { file, sha256, partHashes } of sources)
    assert.equal([sha256 ?? partHashes ?? []].flat().length, listPartFiles(file).length, file);
});

test('states licence, size and context of all weights, and no hash twice', () => {
  for (const { id, licence, sizeBytes, contextTokensMax } of weights) {
    assert.notEqual(licence, 'not stated', id);
    assert.ok((sizeBytes ?? 0) > 0 && contextTokensMax > 0, id);
  }
  const hashes = weights.flatMap(({ sources }) =>
    sources.flatMap((source) => (source.type === 'hub' ? [source.sha256 ?? source.partHashes ?? []].flat() : [])),
  );
  assert.equal(new Set(hashes).size, hashes.length);
});
