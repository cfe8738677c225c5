import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { programVersion } from '../../src/engines/command/find-program.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-version-'));
after(() => rmSync(root, { recursive: true }));

const script = (name: string, text: string): string => {
  const path = join(root, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return path;
};

const OPTIONS = { environment: { PATH: process.env.PATH, PARLEY_SECRET: 'ours' }, withinMs: 10_000 };

describe('the version of a program', () => {
  test('is the line that says so, on either output', async () => {
    const chatty = script(
      'chatty',
      'echo "ggml_cuda_init: found 1" >&2; echo "version: 9931 (abc)" >&2; echo "built with" >&2',
    );
    assert.equal(await programVersion(chatty, OPTIONS), 'version: 9931 (abc)');
    assert.equal(await programVersion(script('short', 'echo; echo 0.21.0'), OPTIONS), '0.21.0');
  });

  test('is asked with nothing of ours', async () => {
    assert.equal(await programVersion(script('nosy', 'echo "[$PARLEY_SECRET]"'), OPTIONS), '[]');
  });

  test('is unknown where it fails, says nothing, or takes too long', async () => {
    assert.equal(await programVersion(script('failing', 'echo 1.0; exit 1'), OPTIONS), undefined);
    assert.equal(await programVersion(script('silent', ''), OPTIONS), undefined);
    assert.equal(await programVersion(join(root, 'nothing'), OPTIONS), undefined);
    assert.equal(await programVersion(script('slow', 'exec sleep 60'), { ...OPTIONS, withinMs: 200 }), undefined);
  });
});
