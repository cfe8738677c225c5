import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFileReferences } from './document.ts';

for (const [text, ids] of [
  ['fileid://file-fe-a', ['file-fe-a']],
  [' fileid://file-fe-a , fileid://file-fe-b\n', ['file-fe-a', 'file-fe-b']],
  ['fileid://file-fe-a,fileid://file-fe-a', ['file-fe-a', 'file-fe-a']],
  ['', undefined],
  ['file-fe-a', undefined],
  ['fileid://', undefined],
  ['fileid://file-fe-a,', undefined],
  ['fileid://file-fe-a and more', undefined],
  ['Read fileid://file-fe-a', undefined],
  ['fileid://file-fe-a fileid://file-fe-b', undefined],
  ['fileid://../a', undefined],
  [`fileid://${'a'.repeat(129)}`, undefined],
] as const) {
  test(`${JSON.stringify(text.slice(0, 60))} references ${ids?.length ?? 'no'} files`, () =>
    assert.deepEqual(parseFileReferences(text), ids));
}
